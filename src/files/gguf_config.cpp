// config.json from a GGUF's metadata, and from what only its tensors tell: whether the head is
// tied, whether there are biases, and the divisors of rope scaling.
#include "base/error.h"
#include "files/gguf_architecture.h"
#include "files/gguf_model.h"
#include "files/gguf_rope.h"
#include "files/gguf_section.h"

namespace cairn {
namespace {

using nlohmann::json;

constexpr double kDefaultRopeTheta = 10000.0;
constexpr int64_t kMaxHeadDim = 4096;

int64_t vocabulary_of(const GgufFile& gguf, const GgufSection& section) {
  if (const TensorInfo* embedding = gguf_tensor_of(gguf, "token_embd.weight"))
    return embedding->rows();
  const json* tokens = gguf.find("tokenizer.ggml.tokens");
  if (tokens && tokens->is_array()) return static_cast<int64_t>(tokens->size());
  return section.positive("vocab_size");
}

void refuse_what_is_not_built(const GgufFile& gguf, const GgufSection& section) {
  if (gguf.count(section.key("expert_count"), 0) > 0)
    throw UserError(fmt::format("{} holds a mixture of {} experts, which Cairn does not train.",
                                gguf.path(), gguf.count(section.key("expert_count"))));
}

struct Heads {
  int64_t query, key_value, dim, rotary;
};

Heads heads_of(const GgufFile& gguf, const GgufSection& section, int64_t hidden) {
  for (std::string_view name : {"attention.head_count", "attention.head_count_kv"}) {
    const json* value = gguf.find(section.key(name));
    if (value && value->is_array())
      throw UserError(
          fmt::format("{} has a different number of heads in each layer ({}), which Cairn "
                      "does not train.",
                      gguf.path(), section.key(name)));
  }
  Heads heads{};
  heads.query = section.positive("attention.head_count");
  heads.key_value = section.positive("attention.head_count_kv", heads.query);
  heads.dim = section.positive("attention.key_length", hidden / heads.query);
  if (heads.query % heads.key_value != 0 || heads.dim < 2 || heads.dim > kMaxHeadDim ||
      heads.dim % 2 != 0)
    throw DamagedFile(
        fmt::format("{} has {} heads over {} of keys, {} wide: they do not fit each other.",
                    gguf.path(), heads.query, heads.key_value, heads.dim));
  heads.rotary = section.positive("rope.dimension_count", heads.dim);
  const bool turns_in_part = architecture_of(gguf).name == "phi3";
  if (section.positive("attention.value_length", heads.dim) != heads.dim ||
      heads.rotary > heads.dim || (heads.rotary != heads.dim && !turns_in_part))
    throw UserError(
        fmt::format("{} has keys, values and rotated parts of different widths, which Cairn "
                    "does not train.",
                    gguf.path()));
  return heads;
}

// llama.cpp scales the scores of the largest Gemma by hidden / heads, and of the others by the
// head; it tells the largest by its blocks.
void add_gemma_keys(const GgufSection& section, const Heads& heads, bool third, json& config) {
  const int64_t largest = third ? 62 : 46;
  const bool by_width = config["num_hidden_layers"] == largest;
  const int64_t by_hidden = config["hidden_size"].get<int64_t>() / heads.query;
  config["query_pre_attn_scalar"] = by_width ? by_hidden : heads.dim;
  config.erase("hidden_act");
  config["hidden_activation"] = "gelu_pytorch_tanh";
  config["sliding_window"] = section.positive("attention.sliding_window", third ? 1024 : 4096);
  if (third) {
    config["rope_local_base_freq"] = section.positive_number("rope.freq_base_swa", 10000.0);
    return;
  }
  config["attn_logit_softcapping"] = section.number("attn_logit_softcapping", 50.0);
  config["final_logit_softcapping"] = section.number("final_logit_softcapping", 30.0);
}

void add_phi_keys(const GgufSection& section, const Heads& heads, json& config) {
  const int64_t window = section.gguf().count(section.key("attention.sliding_window"), 0);
  config["sliding_window"] = window > 0 ? json(window) : json();
  config["partial_rotary_factor"] =
      static_cast<double>(heads.rotary) / static_cast<double>(heads.dim);
  if (section.has("rope.scaling.original_context_length"))
    config["original_max_position_embeddings"] =
        section.positive("rope.scaling.original_context_length");
}

void add_family_keys(const GgufSection& section, const Heads& heads, json& config) {
  const GgufFile& gguf = section.gguf();
  const std::string_view name = architecture_of(gguf).name;
  const auto has = [&](std::string_view tensor) { return gguf_tensor_of(gguf, tensor) != nullptr; };
  if (name == "llama") {
    config["attention_bias"] = has("blk.0.attn_q.bias");
    config["mlp_bias"] = has("blk.0.ffn_up.bias");
  } else if (name == "qwen3") {
    config["attention_bias"] = has("blk.0.attn_q.bias");
  } else if (name == "gemma2" || name == "gemma3") {
    add_gemma_keys(section, heads, name == "gemma3", config);
  } else if (name == "phi3") {
    add_phi_keys(section, heads, config);
  }
}

void add_token_ids(const GgufFile& gguf, json& config) {
  for (const auto& [key, name] : {std::pair{"tokenizer.ggml.bos_token_id", "bos_token_id"},
                                  std::pair{"tokenizer.ggml.eos_token_id", "eos_token_id"},
                                  std::pair{"tokenizer.ggml.padding_token_id", "pad_token_id"}})
    if (gguf.find(key)) config[name] = gguf.count(key);
}

}  // namespace

json make_gguf_config(const GgufFile& gguf) {
  const GgufArchitecture& architecture = architecture_of(gguf);
  const GgufSection section(gguf, architecture.name);
  refuse_what_is_not_built(gguf, section);
  const int64_t hidden = section.positive("embedding_length");
  const Heads heads = heads_of(gguf, section, hidden);
  const double theta = section.positive_number("rope.freq_base", kDefaultRopeTheta);
  json config = {
      {"architectures", {std::string(architecture.model_class)}},
      {"model_type", std::string(architecture.model_type)},
      {"hidden_size", hidden},
      {"intermediate_size", section.positive("feed_forward_length")},
      {"num_hidden_layers", section.positive("block_count")},
      {"num_attention_heads", heads.query},
      {"num_key_value_heads", heads.key_value},
      {"head_dim", heads.dim},
      {"hidden_act", "silu"},
      {"rms_norm_eps", section.positive_number("attention.layer_norm_rms_epsilon")},
      {"rope_theta", theta},
      {"rope_scaling", gguf_rope_scaling(section, theta)},
      {"max_position_embeddings", section.positive("context_length")},
      {"vocab_size", vocabulary_of(gguf, section)},
      {"tie_word_embeddings",
       !gguf.tensors().empty() && gguf_tensor_of(gguf, "output.weight") == nullptr},
      {"attention_dropout", 0.0},
      {"initializer_range", 0.02},
      {"use_cache", true},
      {"torch_dtype", "bfloat16"},
  };
  add_family_keys(section, heads, config);
  add_token_ids(gguf, config);
  return config;
}

json make_gguf_generation_config(const GgufFile& gguf) {
  json config = {{"_from_model_config", true}};
  add_token_ids(gguf, config);
  const json* end_of_turn = gguf.find("tokenizer.ggml.eot_token_id");
  if (end_of_turn && config.contains("eos_token_id")) {
    const int64_t eos = gguf.count("tokenizer.ggml.eos_token_id");
    const int64_t eot = gguf.count("tokenizer.ggml.eot_token_id");
    if (eos != eot) config["eos_token_id"] = {eos, eot};
  }
  return config;
}

}  // namespace cairn
