#include "model/rotary.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "model/config_keys.h"

namespace cairn {
namespace {

using nlohmann::json;

constexpr std::array kKinds = {
    std::pair<std::string_view, RopeKind>{"linear", RopeKind::linear},
    std::pair<std::string_view, RopeKind>{"dynamic", RopeKind::dynamic},
    std::pair<std::string_view, RopeKind>{"yarn", RopeKind::yarn},
    std::pair<std::string_view, RopeKind>{"llama3", RopeKind::llama3},
    std::pair<std::string_view, RopeKind>{"longrope", RopeKind::longrope},
    std::pair<std::string_view, RopeKind>{"su", RopeKind::longrope},  // its name in early Phi-3
};

RopeKind kind_of(const std::string& word) {
  for (const auto& [name, kind] : kKinds)
    if (name == word) return kind;
  throw UserError(fmt::format(
      "config.json asks for rotary scaling '{}'; Cairn computes default, linear, dynamic, yarn, "
      "llama3 and longrope",
      word));
}

std::vector<double> read_divisors(const json& rope, const char* key, int64_t pairs) {
  const auto found = rope.find(key);
  const bool fits =
      found != rope.end() && found->is_array() && static_cast<int64_t>(found->size()) == pairs &&
      std::all_of(found->begin(), found->end(),
                  [](const json& value) { return value.is_number() && value.get<double>() > 0; });
  if (!fits)
    throw UserError(
        fmt::format("config.json: '{}' of longrope must be a list of {} positive numbers, one for "
                    "each rotary pair",
                    key, pairs));
  return found->get<std::vector<double>>();
}

// 0.1 * mscale * ln(factor) + 1, which YaRN found to keep the entropy of attention.
double yarn_magnitude(double factor, double mscale) {
  return factor <= 1 ? 1.0 : 0.1 * mscale * std::log(factor) + 1.0;
}

void read_yarn(const json& rope, RopeScaling& scaling) {
  scaling.beta_fast = read_number(rope, "beta_fast", 32);
  scaling.beta_slow = read_number(rope, "beta_slow", 1);
  scaling.truncate = read_flag(rope, "truncate", true);
  if (scaling.beta_fast <= scaling.beta_slow)
    throw UserError("config.json: rotary 'beta_fast' must be above 'beta_slow'");
  const double mscale = read_number(rope, "mscale", 0);
  const double all = read_number(rope, "mscale_all_dim", 0);
  const double usual = mscale != 0 && all != 0 ? yarn_magnitude(scaling.factor, mscale) /
                                                     yarn_magnitude(scaling.factor, all)
                                               : yarn_magnitude(scaling.factor, 1);
  scaling.attention_factor = read_number(rope, "attention_factor", usual);
}

void read_longrope(const json& rope, int64_t width, RopeScaling& scaling) {
  scaling.short_factors = read_divisors(rope, "short_factor", width / 2);
  scaling.long_factors = read_divisors(rope, "long_factor", width / 2);
  const double usual =
      scaling.factor <= 1
          ? 1.0
          : std::sqrt(1 + std::log(scaling.factor) / std::log(scaling.original_max_position));
  scaling.attention_factor = read_number(rope, "attention_factor", usual);
}

void read_llama3(const json& rope, RopeScaling& scaling) {
  scaling.low_freq_factor = read_number(rope, "low_freq_factor", 1);
  scaling.high_freq_factor = read_number(rope, "high_freq_factor", 4);
  if (scaling.high_freq_factor <= scaling.low_freq_factor)
    throw UserError("config.json: rotary 'high_freq_factor' must be above 'low_freq_factor'");
}

// The factor is taken as it stands; only where it is missing does the ratio of contexts stand in.
double factor_of(const json& rope, RopeKind kind, int64_t max_position, double original) {
  const bool has_ratio = kind == RopeKind::yarn || kind == RopeKind::longrope;
  if (!rope.contains("factor") && !has_ratio)
    throw UserError(
        "config.json: the rotary scaling has no 'factor'; by how much does it stretch?");
  const double factor =
      read_number(rope, "factor", std::max(1.0, static_cast<double>(max_position) / original));
  if (factor < 1)
    throw UserError(
        fmt::format("config.json: rotary 'factor' is {}; at least 1 was expected", factor));
  return factor;
}

double stretch_llama3(const RopeScaling& s, double frequency) {
  const double turns = s.original_max_position * frequency / (2 * std::numbers::pi);
  if (turns < s.low_freq_factor) return frequency / s.factor;
  if (turns >= s.high_freq_factor) return frequency;
  const double smooth = (turns - s.low_freq_factor) / (s.high_freq_factor - s.low_freq_factor);
  return (1 - smooth) * frequency / s.factor + smooth * frequency;
}

// Pairs that turn often within the original context keep their frequency, slow ones are stretched,
// a ramp lies between.
class YarnRamp {
 public:
  YarnRamp(const RopeScaling& s, double theta, int64_t width) : factor_(s.factor) {
    const auto dimension = [&](double turns) {
      return static_cast<double>(width) *
             std::log(s.original_max_position / (turns * 2 * std::numbers::pi)) /
             (2 * std::log(theta));
    };
    low_ = dimension(s.beta_fast);
    high_ = dimension(s.beta_slow);
    if (s.truncate) low_ = std::floor(low_), high_ = std::ceil(high_);
    low_ = std::max(low_, 0.0);
    high_ = std::min(high_, static_cast<double>(width) - 1);
    if (low_ == high_) high_ += 0.001;
  }
  double operator()(int64_t pair, double frequency) const {
    const double slow = std::clamp((static_cast<double>(pair) - low_) / (high_ - low_), 0.0, 1.0);
    return frequency / factor_ * slow + frequency * (1 - slow);
  }

 private:
  double factor_, low_ = 0, high_ = 0;
};

double frequency_of(double theta, int64_t width, int64_t pair) {
  return std::pow(theta, -2.0 * static_cast<double>(pair) / static_cast<double>(width));
}

// A longer context turns slower: the base grows with it.
double dynamic_theta(const RopeScaling& s, double theta, int64_t width, int64_t positions) {
  const double longest = std::max(static_cast<double>(positions), s.original_max_position);
  const double growth = s.factor * longest / s.original_max_position - (s.factor - 1);
  const auto dimensions = static_cast<double>(width);
  return theta * std::pow(growth, dimensions / (dimensions - 2));
}

}  // namespace

std::string_view name_of(RopeKind kind) {
  for (const auto& [name, known] : kKinds)
    if (known == kind) return name;
  return "";
}

RotarySpectrum make_spectrum(double theta, int64_t width, const std::optional<RopeScaling>& scaling,
                             int64_t positions) {
  RotarySpectrum spectrum;
  const auto fill = [&](double base, const auto& stretch) {
    for (int64_t pair = 0; pair < width / 2; ++pair)
      spectrum.frequencies.push_back(stretch(pair, frequency_of(base, width, pair)));
  };
  const auto keep = [](int64_t, double frequency) { return frequency; };
  if (!scaling) {
    fill(theta, keep);
    return spectrum;
  }
  const RopeScaling& s = *scaling;
  switch (s.kind) {
    case RopeKind::linear:
      fill(theta, [&](int64_t, double frequency) { return frequency / s.factor; });
      break;
    case RopeKind::dynamic:
      fill(dynamic_theta(s, theta, width, positions), keep);
      break;
    case RopeKind::yarn:
      fill(theta, YarnRamp(s, theta, width));
      break;
    case RopeKind::llama3:
      fill(theta, [&](int64_t, double frequency) { return stretch_llama3(s, frequency); });
      break;
    case RopeKind::longrope: {
      const bool is_long = static_cast<double>(positions) > s.original_max_position;
      const std::vector<double>& divisors = is_long ? s.long_factors : s.short_factors;
      fill(theta, [&](int64_t pair, double frequency) {
        return divisors.empty() ? frequency : frequency / divisors[static_cast<size_t>(pair)];
      });
      break;
    }
  }
  spectrum.magnitude = s.attention_factor;
  return spectrum;
}

RopeReading read_rope(const json& rope, double theta, int64_t width, int64_t max_position,
                      int64_t original_max_position) {
  RopeReading reading{theta, {}};
  if (rope.is_null()) return reading;
  if (!rope.is_object())
    throw UserError(fmt::format(
        "config.json: rope_scaling is {}; an object with rope_type and factor was expected",
        rope.dump()));
  reading.theta = read_number(rope, "rope_theta", theta);
  const char* type_key = rope.contains("rope_type") ? "rope_type" : "type";
  const json type = rope.value(type_key, json("default"));
  if (!type.is_string())
    throw UserError(fmt::format(
        "config.json: '{}' of the rotary scaling is {}; a word such as linear was expected",
        type_key, type.dump()));
  if (type == "default") return reading;
  RopeScaling scaling;
  scaling.kind = kind_of(type.get<std::string>());
  const double original = original_max_position > 0 ? static_cast<double>(original_max_position)
                                                    : static_cast<double>(max_position);
  // The dynamic kind grows from the context that the configuration names.
  scaling.original_max_position =
      scaling.kind == RopeKind::dynamic
          ? static_cast<double>(max_position)
          : read_number(rope, "original_max_position_embeddings", original);
  scaling.factor = factor_of(rope, scaling.kind, max_position, scaling.original_max_position);
  if (scaling.kind == RopeKind::yarn) read_yarn(rope, scaling);
  if (scaling.kind == RopeKind::llama3) read_llama3(rope, scaling);
  if (scaling.kind == RopeKind::longrope) read_longrope(rope, width, scaling);
  reading.scaling = scaling;
  return reading;
}

}  // namespace cairn
