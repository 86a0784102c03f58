#include "model/config_family.h"

#include <array>
#include <cmath>
#include <string>

#include "base/error.h"
#include "model/config_keys.h"

namespace cairn {
namespace {

using nlohmann::json;

constexpr std::array kFamilies = {
    FamilyDefaults{Family::llama, "llama", "LlamaForCausalLM", 0, 0, 2048, 1e-6, 1e4, false},
    FamilyDefaults{Family::mistral, "mistral", "MistralForCausalLM", 0, 8, 131072, 1e-6, 1e4,
                   false},
    FamilyDefaults{Family::qwen2, "qwen2", "Qwen2ForCausalLM", 0, 0, 32768, 1e-6, 1e4, false},
    FamilyDefaults{Family::qwen3, "qwen3", "Qwen3ForCausalLM", 128, 0, 32768, 1e-6, 1e4, false},
    FamilyDefaults{Family::gemma2, "gemma2", "Gemma2ForCausalLM", 256, 4, 8192, 1e-6, 1e4, true},
    FamilyDefaults{Family::gemma3_text, "gemma3_text", "Gemma3ForCausalLM", 256, 4, 131072, 1e-6,
                   1e6, true},
    FamilyDefaults{Family::phi3, "phi3", "Phi3ForCausalLM", 0, 0, 4096, 1e-5, 1e4, false},
};

[[noreturn]] void refuse_type(const std::string& type) {
  if (type == "gemma3")
    throw UserError(
        "config.json is of model_type 'gemma3', which sees images; Cairn trains text models: give "
        "one of model_type 'gemma3_text', such as gemma-3-1b or the language model of this one "
        "saved as Gemma3ForCausalLM");
  throw UserError(
      fmt::format("config.json is of model_type '{}'; Cairn trains 'llama' (Llama 2 and 3, "
                  "TinyLlama, SmolLM2), 'mistral', 'qwen2' (Qwen2 and 2.5), 'qwen3' (dense), "
                  "'gemma2', 'gemma3_text' and 'phi3' (Phi-3 and Phi-4-mini)",
                  type));
}

void check_activation(const json& config, const char* key, std::string_view wanted) {
  const std::string activation = read_word(config, key, std::string(wanted).c_str());
  if (activation != wanted)
    throw UserError(
        fmt::format("config.json asks for activation '{}'; '{}' was expected", activation, wanted));
}

// layer_types says of each layer whether it sees all or through the window.
std::vector<int64_t> read_layer_types(const json& types, int64_t window, int64_t num_layers) {
  if (!types.is_array() || static_cast<int64_t>(types.size()) != num_layers)
    throw UserError(fmt::format(
        "config.json: 'layer_types' must be a list of {} words, one for each layer", num_layers));
  std::vector<int64_t> windows;
  for (const json& type : types) {
    const bool slides = type == "sliding_attention";
    if (!slides && type != "full_attention")
      throw UserError(
          fmt::format("config.json: 'layer_types' names {}; Cairn computes full_attention and "
                      "sliding_attention",
                      type.dump()));
    if (slides && window == 0)
      throw UserError(
          "config.json: 'layer_types' names sliding_attention, but there is no 'sliding_window'");
    windows.push_back(slides ? window : 0);
  }
  return windows;
}

// Layers slide where `slides(layer)`, unless layer_types says otherwise.
template <typename Slides>
void read_windows(const json& config, int64_t window, ModelConfig& model, const Slides& slides) {
  if (has_key(config, "layer_types")) {
    model.windows = read_layer_types(config["layer_types"], window, model.num_layers);
    return;
  }
  if (window == 0) return;
  for (int64_t layer = 0; layer < model.num_layers; ++layer)
    model.windows.push_back(slides(layer) ? window : 0);
}

// 0 for null; `missing` where the key is absent.
int64_t read_window(const json& config, int64_t missing) {
  return config.contains("sliding_window") ? read_count(config, "sliding_window", 0) : missing;
}

void read_qwen_windows(const json& config, ModelConfig& model) {
  const bool used = read_flag(config, "use_sliding_window", false);
  const int64_t window = used ? read_window(config, 4096) : 0;
  const json first = config.value("max_window_layers", json(28));
  if (!first.is_number_integer())
    throw UserError("config.json: 'max_window_layers' must be a whole number");
  if (!used) return;
  read_windows(config, window, model, [&](int64_t layer) { return layer >= first.get<int64_t>(); });
}

void read_gemma(const json& config, bool third, ModelConfig& model) {
  check_activation(config, "hidden_activation", "gelu_pytorch_tanh");
  if (read_flag(config, "use_bidirectional_attention", false))
    throw UserError(
        "config.json sets 'use_bidirectional_attention', which this version does not compute");
  model.gate = GateKind::gelu;
  model.norm_offset = 1;
  model.output_norms = true;
  model.scales_embedding = true;
  model.head_norms = third;
  model.query_scalar = read_number(config, "query_pre_attn_scalar", 256);
  const auto cap = [&](const char* key, double missing) {
    if (config.contains(key) && config[key].is_null()) return 0.0f;
    return static_cast<float>(config.contains(key) ? read_number(config, key, missing) : missing);
  };
  model.logit_softcap = cap("final_logit_softcapping", third ? 0 : 30);
  // transformers reads the key for Gemma 3 and never applies it.
  model.attention_softcap = third ? 0 : cap("attn_logit_softcapping", 50);
  const int64_t pattern = third ? read_count(config, "sliding_window_pattern", 6) : 2;
  read_windows(config, read_window(config, 4096), model,
               [&](int64_t layer) { return (layer + 1) % pattern != 0; });
}

// The object that holds the scaling; transformers 5 calls it rope_parameters, and Gemma 3 has one
// for each kind of layer in it. Null: nothing is said of that kind.
json rope_object(const json& config, const char* layer_type, bool is_shared) {
  for (const char* key : {"rope_parameters", "rope_scaling"}) {
    if (!has_key(config, key)) continue;
    const json& found = config[key];
    const bool by_kind = found.is_object() &&
                         (found.contains("full_attention") || found.contains("sliding_attention"));
    if (by_kind) return found.value(layer_type, json());
    return is_shared ? found : json();
  }
  return nullptr;
}

void read_rotary(const json& config, const FamilyDefaults& defaults, ModelConfig& model) {
  const json rope = rope_object(config, "full_attention", true);
  double part = read_number(config, "partial_rotary_factor", 1);
  if (rope.is_object()) part = read_number(rope, "partial_rotary_factor", part);
  model.rotary_dim = static_cast<int64_t>(part * static_cast<double>(model.head_dim));
  if (part > 1 || model.rotary_dim < 2 || model.rotary_dim % 2 != 0)
    throw UserError(fmt::format(
        "config.json: 'partial_rotary_factor' {} of head_dim {} must leave an even number of "
        "elements that turn",
        part, model.head_dim));
  if (part != 1 && defaults.family != Family::phi3)
    throw UserError(
        fmt::format("config.json sets 'partial_rotary_factor' to {}, which {} models do not have",
                    part, defaults.model_type));
  const RopeReading reading =
      read_rope(rope, read_number(config, "rope_theta", defaults.theta), model.rotary_dim,
                model.max_position, read_count(config, "original_max_position_embeddings", 0));
  model.rope_theta = reading.theta;
  model.rope_scaling = reading.scaling;
  if (defaults.family != Family::gemma3_text) return;
  const double local = read_number(config, "rope_local_base_freq", 1e4);
  const RopeReading locally = read_rope(rope_object(config, "sliding_attention", false), local,
                                        model.rotary_dim, model.max_position, 0);
  if (locally.scaling)
    throw UserError(
        "config.json scales the rotary positions of sliding_attention, which this version does "
        "not compute");
  model.local_rope_theta = locally.theta;
}

}  // namespace

const FamilyDefaults& family_of(const json& config) {
  std::string type = read_word(config, "model_type", "");
  const json classes = config.value("architectures", json::array());
  const bool has_class = classes.is_array() && !classes.empty() && classes[0].is_string();
  for (const FamilyDefaults& family : kFamilies) {
    if (family.model_type == type) return family;
    if (type.empty() && has_class && family.model_class == classes[0].get<std::string>())
      return family;
  }
  if (!type.empty()) refuse_type(type);
  if (has_class) refuse_type(classes[0].get<std::string>());
  return kFamilies.front();
}

void read_family(const json& config, const FamilyDefaults& defaults, ModelConfig& model) {
  const Family family = defaults.family;
  const bool gemma = family == Family::gemma2 || family == Family::gemma3_text;
  if (!gemma) check_activation(config, "hidden_act", "silu");
  const bool has_bias_key = family == Family::llama || family == Family::qwen3 || gemma;
  model.qkv_bias = model.output_bias = has_bias_key && read_flag(config, "attention_bias", false);
  switch (family) {
    case Family::llama:
      model.mlp_bias = read_flag(config, "mlp_bias", false);
      break;
    case Family::mistral:
      read_windows(json::object(), read_window(config, 4096), model, [](int64_t) { return true; });
      break;
    case Family::qwen2:
      model.qkv_bias = true;
      read_qwen_windows(config, model);
      break;
    case Family::qwen3:
      model.head_norms = true;
      read_qwen_windows(config, model);
      break;
    case Family::gemma2:
    case Family::gemma3_text:
      read_gemma(config, family == Family::gemma3_text, model);
      break;
    case Family::phi3:
      model.fused_projections = true;
      read_windows(json::object(), read_window(config, 0), model, [](int64_t) { return true; });
      break;
  }
  read_rotary(config, defaults, model);
}

}  // namespace cairn
