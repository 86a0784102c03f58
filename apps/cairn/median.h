// The median of a few measurements.
#pragma once

#include <algorithm>
#include <vector>

namespace cairn::program {

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace cairn::program
