// config.json from a GGUF's metadata, and from the two things that only its tensors tell: whether
// the head is tied, and the divisors of llama3's rope scaling.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "base/error.h"
#include "files/gguf_architecture.h"
#include "files/gguf_model.h"
#include "files/tensor_reader.h"

namespace cairn {
namespace {

using nlohmann::json;

constexpr double kDefaultRopeTheta = 10000.0;
constexpr int64_t kMaxHeadDim = 4096;

const TensorInfo* tensor_of(const GgufFile& gguf, std::string_view name) {
  for (const TensorInfo& info : gguf.tensors())
    if (info.name == name) return &info;
  return nullptr;
}

// Keys of one architecture.
class Section {
 public:
  Section(const GgufFile& gguf, std::string_view name) : gguf_(gguf), prefix_(name) {}
  std::string key(std::string_view name) const { return fmt::format("{}.{}", prefix_, name); }
  bool has(std::string_view name) const { return gguf_.find(key(name)) != nullptr; }
  int64_t positive(std::string_view name) const {
    const int64_t value = gguf_.count(key(name));
    if (value > 0) return value;
    throw DamagedFile(
        fmt::format("{} gives {} as 0, where at least 1 was expected.", gguf_.path(), key(name)));
  }
  int64_t positive(std::string_view name, int64_t fallback) const {
    return has(name) ? positive(name) : fallback;
  }
  double number(std::string_view name, double fallback) const {
    return gguf_.number(key(name), fallback);
  }
  std::string text(std::string_view name, std::string_view fallback) const {
    return has(name) ? gguf_.text(key(name)) : std::string(fallback);
  }

 private:
  const GgufFile& gguf_;
  std::string_view prefix_;
};

// transformers' llama3 rule: long waves are slowed by `factor`, short ones kept, those between
// blended.
double llama3_divisor(double wave_length, double factor, double low, double high, double context) {
  if (wave_length < context / high) return 1.0;
  if (wave_length > context / low) return factor;
  const double blend = (context / wave_length - low) / (high - low);
  return 1.0 / ((1.0 - blend) / factor + blend);
}

std::vector<float> read_divisors(const GgufFile& gguf, const TensorInfo& info) {
  if (info.shape.elements() > kMaxHeadDim || info.type != FileType::f32)
    throw DamagedFile(fmt::format("{} has {} as {} {}, where a few F32 divisors were expected.",
                                  gguf.path(), info.name, name_of(info.type),
                                  info.shape.to_string()));
  std::vector<float> divisors(static_cast<size_t>(info.shape.elements()));
  std::array<std::byte, kLeastReadScratchBytes> scratch;
  read_tensor_rows(gguf.file(), info, 0, info.rows(),
                   {reinterpret_cast<std::byte*>(divisors.data()), DType::f32, info.shape},
                   scratch);
  return divisors;
}

// The converter writes nothing but the divisors; low and high factor have one value in every model
// published, and the guess is held against each divisor.
json llama3_scaling(const GgufFile& gguf, const Section& section, double theta) {
  constexpr double kLow = 1.0, kHigh = 4.0, kTolerance = 1e-3;
  const TensorInfo* info = tensor_of(gguf, "rope_freqs.weight");
  if (!info) return nullptr;
  const std::vector<float> divisors = read_divisors(gguf, *info);
  if (std::all_of(divisors.begin(), divisors.end(), [](float d) { return d == 1.0f; }))
    return nullptr;
  const double factor = divisors.back();
  const int64_t context = section.positive("rope.scaling.original_context_length", 8192);
  const auto dimensions = static_cast<double>(2 * divisors.size());
  for (size_t pair = 0; pair < divisors.size(); ++pair) {
    const double wave_length =
        2 * std::numbers::pi * std::pow(theta, 2.0 * static_cast<double>(pair) / dimensions);
    const double wanted =
        llama3_divisor(wave_length, factor, kLow, kHigh, static_cast<double>(context));
    if (!(std::abs(divisors[pair] - wanted) <= kTolerance * wanted))
      throw UserError(
          fmt::format("{} scales its rope frequencies by divisors that are not llama3's "
                      "(divisor {} is {}, expected {}): Cairn cannot train it.",
                      gguf.path(), pair, divisors[pair], wanted));
  }
  return {{"rope_type", "llama3"},
          {"factor", factor},
          {"low_freq_factor", kLow},
          {"high_freq_factor", kHigh},
          {"original_max_position_embeddings", context}};
}

json rope_scaling_of(const GgufFile& gguf, const Section& section, double theta) {
  if (json scaling = llama3_scaling(gguf, section, theta); !scaling.is_null()) return scaling;
  const std::string type = section.text("rope.scaling.type", "none");
  const double factor =
      section.number("rope.scaling.factor", section.number("rope.scale_linear", 1.0));
  if (type == "none" && !section.has("rope.scale_linear")) return nullptr;
  if (factor == 1.0) return nullptr;
  if (type == "linear" || type == "none") return {{"rope_type", "linear"}, {"factor", factor}};
  if (type != "yarn")
    throw UserError(
        fmt::format("{} scales its rope frequencies by \"{}\": Cairn knows linear, llama3 and "
                    "yarn.",
                    gguf.path(), type));
  json scaling = {{"rope_type", "yarn"}, {"factor", factor}};
  if (section.has("rope.scaling.original_context_length"))
    scaling["original_max_position_embeddings"] =
        section.positive("rope.scaling.original_context_length");
  if (section.has("rope.scaling.attn_factor"))
    scaling["attention_factor"] = section.number("rope.scaling.attn_factor", 1.0);
  return scaling;
}

int64_t vocabulary_of(const GgufFile& gguf, const Section& section) {
  if (const TensorInfo* embedding = tensor_of(gguf, "token_embd.weight")) return embedding->rows();
  const json* tokens = gguf.find("tokenizer.ggml.tokens");
  if (tokens && tokens->is_array()) return static_cast<int64_t>(tokens->size());
  return section.positive("vocab_size");
}

void refuse_what_is_not_built(const GgufFile& gguf, const Section& section) {
  if (gguf.count("split.count", 1) > 1)
    throw UserError(
        fmt::format("{} is one part of a split GGUF: merge the parts first (llama-gguf-split "
                    "--merge).",
                    gguf.path()));
  if (gguf.count(section.key("expert_count"), 0) > 0)
    throw UserError(fmt::format("{} holds a mixture of {} experts, which Cairn does not train.",
                                gguf.path(), gguf.count(section.key("expert_count"))));
}

struct Heads {
  int64_t query, key_value, dim;
};

Heads heads_of(const GgufFile& gguf, const Section& section, int64_t hidden) {
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
  if (section.positive("attention.value_length", heads.dim) != heads.dim ||
      section.positive("rope.dimension_count", heads.dim) != heads.dim)
    throw UserError(
        fmt::format("{} has keys, values and rotated parts of different widths, which Cairn "
                    "does not train.",
                    gguf.path()));
  return heads;
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
  const Section section(gguf, architecture.name);
  refuse_what_is_not_built(gguf, section);
  const int64_t hidden = section.positive("embedding_length");
  const Heads heads = heads_of(gguf, section, hidden);
  const double theta = section.number("rope.freq_base", kDefaultRopeTheta);
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
      {"rms_norm_eps", gguf.number(section.key("attention.layer_norm_rms_epsilon"))},
      {"rope_theta", theta},
      {"rope_scaling", rope_scaling_of(gguf, section, theta)},
      {"max_position_embeddings", section.positive("context_length")},
      {"vocab_size", vocabulary_of(gguf, section)},
      {"tie_word_embeddings",
       !gguf.tensors().empty() && tensor_of(gguf, "output.weight") == nullptr},
      {"attention_dropout", 0.0},
      {"initializer_range", 0.02},
      {"use_cache", true},
      {"torch_dtype", "bfloat16"},
  };
  if (architecture.name == "llama") {
    config["attention_bias"] = tensor_of(gguf, "blk.0.attn_q.bias") != nullptr;
    config["mlp_bias"] = tensor_of(gguf, "blk.0.ffn_up.bias") != nullptr;
  } else if (architecture.name == "qwen3") {
    config["attention_bias"] = tensor_of(gguf, "blk.0.attn_q.bias") != nullptr;
  }
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
