// Dropout of rows keyed by sample and position, from the definition of the counter-based stream.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "base/random.h"

namespace cairn::reference {

struct DropoutKey {
  float rate = 0;
  uint64_t seed = 0;
  uint32_t stream = 0;
};

inline bool is_kept(const DropoutKey& key, int64_t sample, int64_t position, int64_t column) {
  const Random random(key.seed, uint64_t{key.stream} << 32 | static_cast<uint64_t>(sample));
  // Four columns share a draw, and a position has 2^32 draws.
  const uint64_t index = (static_cast<uint64_t>(position) << 34) + static_cast<uint64_t>(column);
  return random.word(index) >= std::ldexp(static_cast<double>(key.rate), 32);
}

// x [rows, columns] with 0 in the place of what is dropped.
template <typename T>
std::vector<T> dropout(const DropoutKey& key, const std::vector<double>& samples,
                       const std::vector<double>& positions, std::vector<T> x, int64_t columns) {
  for (size_t row = 0; row < samples.size(); ++row)
    for (int64_t c = 0; c < columns; ++c)
      if (!is_kept(key, static_cast<int64_t>(samples[row]), static_cast<int64_t>(positions[row]),
                   c))
        x[row * static_cast<size_t>(columns) + static_cast<size_t>(c)] = 0;
  return x;
}

}  // namespace cairn::reference
