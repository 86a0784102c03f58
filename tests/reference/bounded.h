// A result beside its magnitude: the same sum over absolute values. What rounding can explain of an
// error is a tolerance times that.
#pragma once

#include <cstdint>
#include <vector>

namespace cairn::reference {

template <typename T>
struct Bounded {
  std::vector<T> value;
  std::vector<double> magnitude;

  explicit Bounded(int64_t count = 0)
      : value(static_cast<size_t>(count)), magnitude(static_cast<size_t>(count)) {}
  void add(int64_t at, T term, double magnitude_of_term) {
    value[static_cast<size_t>(at)] += term;
    magnitude[static_cast<size_t>(at)] += magnitude_of_term;
  }
};

}  // namespace cairn::reference
