// Rotary embedding in any scalar: pairs (i, i + rotary / 2) of every head turn by their position's
// angle, whose cosine and sine stand in `table` [positions, rotary / 2, 2]; the rest of a head
// stays.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "reference/bounded.h"

namespace cairn::reference {

template <typename T>
Bounded<T> rope(const std::vector<T>& x, const std::vector<double>& positions,
                const std::vector<double>& table, int64_t heads, int64_t head_dim, bool inverse,
                int64_t rotary = 0) {
  const int64_t turning = rotary > 0 ? rotary : head_dim, half = turning / 2;
  Bounded<T> y(static_cast<int64_t>(x.size()));
  for (size_t token = 0; token < positions.size(); ++token)
    for (int64_t head = 0; head < heads; ++head) {
      const int64_t begin = (static_cast<int64_t>(token) * heads + head) * head_dim;
      for (int64_t i = turning; i < head_dim; ++i)
        y.add(begin + i, x[begin + i], std::abs(x[begin + i]));
      for (int64_t i = 0; i < half; ++i) {
        const int64_t first = begin + i, second = first + half;
        const int64_t angle = (static_cast<int64_t>(positions[token]) * half + i) * 2;
        const double c = table[angle], s = inverse ? -table[angle + 1] : table[angle + 1];
        y.add(first, x[first] * c - x[second] * s,
              std::abs(x[first] * c) + std::abs(x[second] * s));
        y.add(second, x[second] * c + x[first] * s,
              std::abs(x[second] * c) + std::abs(x[first] * s));
      }
    }
  return y;
}

}  // namespace cairn::reference
