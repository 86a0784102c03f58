#include "files/gguf_rope.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include "files/tensor_reader.h"

namespace cairn {
namespace {

using nlohmann::json;

constexpr int64_t kMostDivisors = 4096;

// transformers' llama3 rule: long waves are slowed by `factor`, short ones kept, those between
// blended.
double llama3_divisor(double wave_length, double factor, double low, double high, double context) {
  if (wave_length < context / high) return 1.0;
  if (wave_length > context / low) return factor;
  const double blend = (context / wave_length - low) / (high - low);
  return 1.0 / ((1.0 - blend) / factor + blend);
}

std::vector<float> read_divisors(const GgufFile& gguf, const TensorInfo& info) {
  if (info.shape.elements() > kMostDivisors || info.type != FileType::f32)
    throw DamagedFile(fmt::format("{} has {} as {} {}, where a few F32 divisors were expected.",
                                  gguf.path(), info.name, name_of(info.type),
                                  info.shape.to_string()));
  std::vector<float> divisors(static_cast<size_t>(info.shape.elements()));
  std::array<std::byte, kLeastReadScratchBytes> scratch;
  read_tensor_rows(gguf.file(info.file), info, 0, info.rows(),
                   {reinterpret_cast<std::byte*>(divisors.data()), DType::f32, info.shape},
                   scratch);
  return divisors;
}

// The converter writes nothing but the divisors; low and high factor have one value in every model
// published, and the guess is held against each divisor.
json llama3_scaling(const GgufFile& gguf, const GgufSection& section, double theta) {
  constexpr double kLow = 1.0, kHigh = 4.0, kTolerance = 1e-3;
  const TensorInfo* info = gguf_tensor_of(gguf, "rope_freqs.weight");
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

// The divisors of both lengths of context, as Phi-3 has them.
json longrope_scaling(const GgufFile& gguf, const GgufSection& section) {
  const TensorInfo* shorter = gguf_tensor_of(gguf, "rope_factors_short.weight");
  const TensorInfo* longer = gguf_tensor_of(gguf, "rope_factors_long.weight");
  if (!shorter || !longer) return nullptr;
  json scaling = {{"rope_type", "longrope"},
                  {"short_factor", read_divisors(gguf, *shorter)},
                  {"long_factor", read_divisors(gguf, *longer)},
                  {"original_max_position_embeddings",
                   section.positive("rope.scaling.original_context_length")}};
  if (section.has("rope.scaling.attn_factor"))
    scaling["attention_factor"] = section.number("rope.scaling.attn_factor", 1.0);
  return scaling;
}

}  // namespace

json gguf_rope_scaling(const GgufSection& section, double theta) {
  const GgufFile& gguf = section.gguf();
  if (json scaling = longrope_scaling(gguf, section); !scaling.is_null()) return scaling;
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

}  // namespace cairn
