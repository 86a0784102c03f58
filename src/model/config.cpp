#include "model/config.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "base/error.h"

namespace cairn {
namespace {

using nlohmann::json;

constexpr int64_t kMostCount = int64_t{1} << 31;
constexpr int64_t kMostLayers = 1024;

int64_t read_count(const json& config, const char* key, std::optional<int64_t> fallback = {},
                   int64_t most = kMostCount) {
  const auto found = config.find(key);
  if (found == config.end() || found->is_null()) {
    if (fallback) return *fallback;
    throw UserError(
        fmt::format("config.json has no '{}'; it is needed for a Llama-like model", key));
  }
  if (!found->is_number_integer() || found->get<int64_t>() <= 0 || found->get<int64_t>() > most)
    throw UserError(
        fmt::format("config.json: '{}' is {}; a positive whole number of at most {} was expected",
                    key, found->dump(), most));
  return found->get<int64_t>();
}

double read_number(const json& config, const char* key, double fallback) {
  const auto found = config.find(key);
  if (found == config.end() || found->is_null()) return fallback;
  if (!found->is_number() || !(found->get<double>() > 0))
    throw UserError(
        fmt::format("config.json: '{}' is {}; a positive number was expected", key, found->dump()));
  return found->get<double>();
}

void refuse_set(const json& config, const char* key) {
  const auto found = config.find(key);
  if (found != config.end() && found->is_boolean() && found->get<bool>())
    throw UserError(fmt::format("config.json sets '{}', which this version does not compute", key));
}

// rope_parameters (transformers 5) holds both theta and the scaling; rope_scaling only the latter.
void read_rope(const json& config, ModelConfig& model) {
  model.rope_theta = read_number(config, "rope_theta", 10000);
  json rope;
  for (const char* key : {"rope_scaling", "rope_parameters"})
    if (config.contains(key) && config[key].is_object()) rope = config[key];
  if (rope.is_null()) return;
  model.rope_theta = read_number(rope, "rope_theta", model.rope_theta);
  const std::string type = rope.value("rope_type", rope.value("type", std::string("default")));
  if (type == "default") return;
  if (type != "llama3")
    throw UserError(fmt::format(
        "config.json asks for rotary scaling '{}'; this version computes 'default' and 'llama3'",
        type));
  RopeScaling scaling;
  scaling.factor = read_number(rope, "factor", 8);
  scaling.low_freq_factor = read_number(rope, "low_freq_factor", 1);
  scaling.high_freq_factor = read_number(rope, "high_freq_factor", 4);
  scaling.original_max_position = read_number(rope, "original_max_position_embeddings",
                                              static_cast<double>(model.max_position));
  if (scaling.high_freq_factor <= scaling.low_freq_factor)
    throw UserError("config.json: rotary 'high_freq_factor' must be above 'low_freq_factor'");
  model.rope_scaling = scaling;
}

}  // namespace

ModelConfig parse_model_config(const json& config) {
  if (!config.is_object()) throw UserError("config.json is not a JSON object");
  const std::string type = config.value("model_type", std::string("llama"));
  if (type != "llama")
    throw UserError(
        fmt::format("config.json is of model_type '{}'; this version trains 'llama' models (Llama "
                    "2 and 3, TinyLlama, SmolLM2)",
                    type));
  const std::string activation = config.value("hidden_act", std::string("silu"));
  if (activation != "silu")
    throw UserError(
        fmt::format("config.json asks for activation '{}'; 'silu' was expected", activation));
  refuse_set(config, "attention_bias");
  refuse_set(config, "mlp_bias");

  ModelConfig model;
  model.hidden = read_count(config, "hidden_size");
  model.intermediate = read_count(config, "intermediate_size");
  model.num_layers = read_count(config, "num_hidden_layers", {}, kMostLayers);
  model.num_heads = read_count(config, "num_attention_heads");
  model.num_kv_heads = read_count(config, "num_key_value_heads", model.num_heads);
  if (!config.contains("head_dim") && model.hidden % model.num_heads != 0)
    throw UserError(
        fmt::format("config.json: hidden_size {} is not a multiple of "
                    "num_attention_heads {}",
                    model.hidden, model.num_heads));
  model.head_dim = read_count(config, "head_dim", model.hidden / model.num_heads);
  model.vocab = read_count(config, "vocab_size");
  model.max_position = read_count(config, "max_position_embeddings", 2048);
  model.rms_epsilon = static_cast<float>(read_number(config, "rms_norm_eps", 1e-6));
  if (config.contains("tie_word_embeddings") && config["tie_word_embeddings"].is_boolean())
    model.tied_embeddings = config["tie_word_embeddings"].get<bool>();
  if (model.num_heads % model.num_kv_heads != 0)
    throw UserError(
        fmt::format("config.json: num_attention_heads {} is not a multiple of "
                    "num_key_value_heads {}",
                    model.num_heads, model.num_kv_heads));
  if (model.head_dim % 2 != 0 || model.head_dim > 256)
    throw UserError(
        fmt::format("config.json: head_dim {} is not an even number up to 256", model.head_dim));
  read_rope(config, model);
  if (config.contains("quantization_config") && !config["quantization_config"].is_null())
    model.quantisation = parse_quantisation(config["quantization_config"]);
  return model;
}

int64_t ModelConfig::num_parameters() const {
  const int64_t attention = hidden * (2 * query_width() + 2 * kv_width());
  const int64_t block = attention + 3 * hidden * intermediate + 2 * hidden;
  return vocab * hidden * (tied_embeddings ? 1 : 2) + num_layers * block + hidden;
}

std::vector<double> ModelConfig::inverse_frequencies() const {
  std::vector<double> frequencies;
  for (int64_t i = 0; i < head_dim / 2; ++i) {
    double frequency = std::pow(rope_theta, -2.0 * static_cast<double>(i) / head_dim);
    if (rope_scaling) {
      const RopeScaling& s = *rope_scaling;
      const double turns = s.original_max_position * frequency / (2 * std::numbers::pi);
      if (turns < s.low_freq_factor) {
        frequency /= s.factor;
      } else if (turns < s.high_freq_factor) {
        const double smooth =
            (turns - s.low_freq_factor) / (s.high_freq_factor - s.low_freq_factor);
        frequency = (1 - smooth) * frequency / s.factor + smooth * frequency;
      }
    }
    frequencies.push_back(frequency);
  }
  return frequencies;
}

}  // namespace cairn
