// Rotary positions: how fast each pair of a head turns, and how a configuration stretches that for
// contexts longer than the model was trained on.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string_view>
#include <vector>

namespace cairn {

enum class RopeKind : uint8_t { linear, dynamic, yarn, llama3, longrope };

// "rope_scaling" of a config.json. Sources: transformers' modeling_rope_utils, by kind.
struct RopeScaling {
  RopeKind kind = RopeKind::linear;
  double factor = 1;
  double original_max_position = 8192;
  double low_freq_factor = 1, high_freq_factor = 4;  // llama3
  double beta_fast = 32, beta_slow = 1;              // yarn: turns within the original context
  bool truncate = true;                              // yarn: to whole pairs
  double attention_factor = 1;                       // of cosines and sines; yarn, longrope
  std::vector<double> short_factors, long_factors;   // longrope: a divisor for each pair
};

struct RotarySpectrum {
  std::vector<double> frequencies;  // radians a position, of each pair
  double magnitude = 1;             // of cosines and sines
};

// Of heads that turn in their first `width` elements. Dynamic and longrope scaling look at how many
// positions there are: of the whole run, so that a step's numbers do not depend on its batch.
RotarySpectrum make_spectrum(double theta, int64_t width, const std::optional<RopeScaling>& scaling,
                             int64_t positions);

std::string_view name_of(RopeKind kind);

// What one object of a configuration says of rotary positions.
struct RopeReading {
  double theta = 10000;
  std::optional<RopeScaling> scaling;
};

// `rope` is rope_scaling, or (transformers 5) rope_parameters or one of its parts; null: nothing is
// said. Throws UserError that names the key which makes no sense. `max_position` and
// `original_max_position` (0: not said) stand in the configuration itself.
RopeReading read_rope(const nlohmann::json& rope, double theta, int64_t width, int64_t max_position,
                      int64_t original_max_position);

}  // namespace cairn
