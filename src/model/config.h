// ModelConfig: what a decoder is made of, read from a Hugging Face config.json of any family that
// Cairn trains. What this version cannot compute is refused by name here, before anything is
// loaded.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "model/quantisation.h"
#include "model/rotary.h"

namespace cairn {

// The gate of an MLP: silu(gate) * up, or gelu(gate) * up in GELU's tanh form.
enum class GateKind : uint8_t { silu, gelu };

struct ModelConfig {
  int64_t hidden = 0;
  int64_t intermediate = 0;
  int64_t num_layers = 0;
  int64_t num_heads = 0;
  int64_t num_kv_heads = 0;
  int64_t head_dim = 0;
  int64_t vocab = 0;
  int64_t max_position = 2048;
  float rms_epsilon = 1e-5f;
  double rope_theta = 10000;
  std::optional<RopeScaling> rope_scaling;
  double local_rope_theta = 0;  // of layers with a window, unscaled; 0: the same as of the others
  int64_t rotary_dim = 0;       // elements of a head that turn; 0: all
  bool tied_embeddings = false;
  std::optional<QuantSpec> quantisation;  // what "quantization_config" says of the files

  bool qkv_bias = false, output_bias = false, mlp_bias = false;
  bool head_norms = false;         // queries and keys pass an RMS norm of each head
  bool fused_projections = false;  // q, k, v are one product, gate and up another
  bool output_norms = false;       // what attention and MLP give passes a norm too
  float norm_offset = 0;           // norms multiply by weight + offset
  GateKind gate = GateKind::silu;
  bool scales_embedding = false;                   // by the root of `hidden`
  double query_scalar = 0;                         // scores are divided by its root; 0: head_dim
  float attention_softcap = 0, logit_softcap = 0;  // 0: none
  std::vector<int64_t> windows;  // of each layer, 0: it sees all; layers beyond see all

  int64_t query_width() const { return num_heads * head_dim; }
  int64_t kv_width() const { return num_kv_heads * head_dim; }
  int64_t rotary_width() const { return rotary_dim > 0 ? rotary_dim : head_dim; }
  int64_t window_of(int64_t layer) const {
    const auto at = static_cast<size_t>(layer);
    return at < windows.size() ? windows[at] : 0;
  }
  // Whether the layer turns by the local base.
  bool is_local(int64_t layer) const { return local_rope_theta > 0 && window_of(layer) > 0; }
  bool has_local_layers() const;
  float attention_scale() const;
  // What embedded rows are multiplied by, in a model that stores activations as `activation`.
  float embedding_scale(DType activation) const;
  int64_t num_parameters() const;
  // The products of a block, by the last part of their names: what a low-rank pair can be put on.
  std::vector<std::string> product_names() const;

  // How fast pairs turn, for a run with that many positions.
  RotarySpectrum spectrum(int64_t positions) const;
  RotarySpectrum local_spectrum() const;
};

// Stretches rotary positions to `positions` with a scaling of that kind, as LLaMA-Factory does: by
// the whole factor that covers them, in the place of any scaling there was. Positions that the
// model has already leave it alone. Not longrope, which no length determines.
void stretch_positions(RopeKind kind, int64_t positions, ModelConfig& config);
// The config.json that describes the stretched model.
nlohmann::json stretched_json(RopeKind kind, int64_t positions, nlohmann::json config);

// Throws UserError naming the key that is missing, out of range or not supported.
ModelConfig parse_model_config(const nlohmann::json& config);

}  // namespace cairn
