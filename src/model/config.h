// ModelConfig: what a decoder of the Llama kind is made of, read from a Hugging Face config.json.
// What this version cannot compute is refused by name here, before anything is loaded.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "model/quantisation.h"

namespace cairn {

// Llama 3's stretching of rotary frequencies (rope_type "llama3").
struct RopeScaling {
  double factor = 1;
  double low_freq_factor = 1;
  double high_freq_factor = 4;
  double original_max_position = 8192;
};

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
  bool tied_embeddings = false;
  std::optional<QuantSpec> quantisation;  // what "quantization_config" says of the files

  int64_t query_width() const { return num_heads * head_dim; }
  int64_t kv_width() const { return num_kv_heads * head_dim; }
  int64_t num_parameters() const;

  // Inverse frequencies of the head_dim / 2 rotary pairs, scaling applied.
  std::vector<double> inverse_frequencies() const;
};

// Throws UserError naming the key that is missing, out of range or not supported.
ModelConfig parse_model_config(const nlohmann::json& config);

}  // namespace cairn
