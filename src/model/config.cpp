// What every family's config.json has in common, and what follows from a configuration.
#include "model/config.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "base/error.h"
#include "model/config_family.h"
#include "model/config_keys.h"
#include "numeric/bfloat16.h"

namespace cairn {
namespace {

using nlohmann::json;

constexpr int64_t kMostLayers = 1024;

void read_sizes(const json& config, const FamilyDefaults& defaults, ModelConfig& model) {
  model.hidden = read_count(config, "hidden_size");
  model.intermediate = read_count(config, "intermediate_size");
  model.num_layers = read_count(config, "num_hidden_layers", {}, kMostLayers);
  model.num_heads = read_count(config, "num_attention_heads");
  model.num_kv_heads = read_count(config, "num_key_value_heads",
                                  defaults.kv_heads > 0 ? defaults.kv_heads : model.num_heads);
  const bool derived = defaults.head_dim == 0 && !has_key(config, "head_dim");
  if (derived && model.hidden % model.num_heads != 0)
    throw UserError(
        fmt::format("config.json: hidden_size {} is not a multiple of "
                    "num_attention_heads {}",
                    model.hidden, model.num_heads));
  model.head_dim =
      read_count(config, "head_dim",
                 defaults.head_dim > 0 ? defaults.head_dim
                                       : std::max<int64_t>(1, model.hidden / model.num_heads));
  model.vocab = read_count(config, "vocab_size");
  model.max_position = read_count(config, "max_position_embeddings", defaults.max_position);
  if (model.num_heads % model.num_kv_heads != 0)
    throw UserError(
        fmt::format("config.json: num_attention_heads {} is not a multiple of "
                    "num_key_value_heads {}",
                    model.num_heads, model.num_kv_heads));
  if (model.head_dim % 2 != 0 || model.head_dim > 256)
    throw UserError(
        fmt::format("config.json: head_dim {} is not an even number up to 256", model.head_dim));
}

// A dropout that is asked for and not computed would be dropped in silence.
void refuse_dropout(const json& config) {
  for (const char* key : {"attention_dropout", "resid_pdrop", "embd_pdrop"})
    if (has_key(config, key) && config[key].is_number() && config[key].get<double>() > 0)
      throw UserError(
          fmt::format("config.json sets '{}' to {}, which this version does not compute; set it "
                      "to 0 there",
                      key, config[key].dump()));
}

// A scaling by the whole factor that covers `positions`.
json stretching(RopeKind kind, int64_t positions, int64_t original) {
  CAIRN_CHECK(kind != RopeKind::longrope,
              "[stretch_positions] wanted a kind that a length determines, got longrope");
  json rope = {{"rope_type", name_of(kind)}, {"factor", ceil_div(positions, original)}};
  if (kind == RopeKind::yarn || kind == RopeKind::llama3)
    rope["original_max_position_embeddings"] = original;
  // LLaMA-Factory's, and what transformers asks for by name.
  if (kind == RopeKind::llama3) rope.update({{"low_freq_factor", 1.0}, {"high_freq_factor", 4.0}});
  return rope;
}

template <typename Number>
Number count_parameters(const ModelConfig& config) {
  const auto hidden = static_cast<Number>(config.hidden);
  const auto intermediate = static_cast<Number>(config.intermediate);
  const auto query = static_cast<Number>(config.query_width());
  const Number qkv = query + 2 * static_cast<Number>(config.kv_width());
  Number block = hidden * (qkv + query) + 3 * hidden * intermediate;
  block += (config.output_norms ? 4 : 2) * hidden;
  if (config.head_norms) block += 2 * static_cast<Number>(config.head_dim);
  if (config.qkv_bias) block += qkv;
  if (config.output_bias) block += hidden;
  if (config.mlp_bias) block += 2 * intermediate + hidden;
  return static_cast<Number>(config.vocab) * hidden * (config.tied_embeddings ? 1 : 2) +
         static_cast<Number>(config.num_layers) * block + hidden;
}

// Beyond any model, and little enough that no product of its sizes and a count of tokens or bytes
// leaves 64 bits, nor the sum of them over all layers. Counted in double, which none of the sizes
// can overflow.
void refuse_more_than_any_model(const ModelConfig& model) {
  constexpr double kMostParameters = 0x1p45;
  constexpr int64_t kMostWidth = int64_t{1} << 20;
  const auto count = count_parameters<double>(model);
  if (count > kMostParameters)
    throw UserError(fmt::format(
        "config.json describes a model of {:.3g} parameters, where {:.3g} is the most that is "
        "sensible; check hidden_size, intermediate_size, num_attention_heads and vocab_size",
        count, kMostParameters));
  const int64_t width = std::max({model.hidden, model.intermediate, model.query_width()});
  if (width > kMostWidth)
    throw UserError(fmt::format(
        "config.json describes layers of {} columns, where {} is the most that is sensible; check "
        "hidden_size, intermediate_size and num_attention_heads times head_dim",
        width, kMostWidth));
}

}  // namespace

ModelConfig parse_model_config(const json& config) {
  if (!config.is_object()) throw UserError("config.json is not a JSON object");
  const FamilyDefaults& defaults = family_of(config);
  ModelConfig model;
  read_sizes(config, defaults, model);
  model.rms_epsilon = static_cast<float>(read_number(config, "rms_norm_eps", defaults.epsilon));
  model.tied_embeddings = read_flag(config, "tie_word_embeddings", defaults.tied);
  refuse_dropout(config);
  read_family(config, defaults, model);
  refuse_more_than_any_model(model);
  if (has_key(config, "quantization_config"))
    model.quantisation = parse_quantisation(config["quantization_config"]);
  return model;
}

void stretch_positions(RopeKind kind, int64_t positions, ModelConfig& config) {
  if (positions <= config.max_position) return;
  const json rope = stretching(kind, positions, config.max_position);
  config.max_position *= rope["factor"].get<int64_t>();
  config.rope_scaling =
      read_rope(rope, config.rope_theta, config.rotary_width(), config.max_position, 0).scaling;
}

json stretched_json(RopeKind kind, int64_t positions, json config) {
  const int64_t original = parse_model_config(config).max_position;
  if (positions <= original) return config;
  const json rope = stretching(kind, positions, original);
  config["max_position_embeddings"] = original * rope["factor"].get<int64_t>();
  const bool named_anew = has_key(config, "rope_parameters");
  json& place = config[named_anew ? "rope_parameters" : "rope_scaling"];
  json& full =
      place.is_object() && place.contains("full_attention") ? place["full_attention"] : place;
  // What is no part of the scaling stays.
  json kept = json::object();
  for (const char* key : {"rope_theta", "partial_rotary_factor"})
    if (full.is_object() && full.contains(key)) kept[key] = full[key];
  kept.update(rope);
  full = std::move(kept);
  return config;
}

bool ModelConfig::has_local_layers() const {
  return local_rope_theta > 0 &&
         std::any_of(windows.begin(), windows.end(), [](int64_t window) { return window > 0; });
}

float ModelConfig::attention_scale() const {
  const double scalar = query_scalar > 0 ? query_scalar : static_cast<double>(head_dim);
  return 1.0f / std::sqrt(static_cast<float>(scalar));
}

float ModelConfig::embedding_scale(DType activation) const {
  if (!scales_embedding) return 1;
  const auto root = static_cast<float>(std::sqrt(static_cast<double>(hidden)));
  return activation == DType::bf16 ? to_float(to_bf16(root)) : root;
}

int64_t ModelConfig::num_parameters() const { return count_parameters<int64_t>(*this); }

std::vector<std::string> ModelConfig::product_names() const {
  if (fused_projections) return {"qkv_proj", "o_proj", "gate_up_proj", "down_proj"};
  return {"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"};
}

RotarySpectrum ModelConfig::spectrum(int64_t positions) const {
  return make_spectrum(rope_theta, rotary_width(), rope_scaling, positions);
}

RotarySpectrum ModelConfig::local_spectrum() const {
  return make_spectrum(local_rope_theta, rotary_width(), std::nullopt, 0);
}

}  // namespace cairn
