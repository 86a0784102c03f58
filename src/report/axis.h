// Axis: a range of values, the round numbers to mark on it, and where a value lies in the picture.
#pragma once

#include <string>
#include <vector>

namespace cairn {

class Axis {
 public:
  // Widens [low, high] to round numbers, with about `wanted_ticks` of them. `whole`: only integers
  // are marked. Pixels run from `from` to `to`, which may be the smaller one.
  Axis(double low, double high, int wanted_ticks, bool whole, double from, double to);

  const std::vector<double>& ticks() const { return ticks_; }
  double pixel(double value) const {
    return from_ + (value - low_) / (high_ - low_) * (to_ - from_);
  }
  // A tick with as many decimals as its neighbours need.
  std::string text(double tick) const;

 private:
  double low_, high_, step_;
  double from_, to_;
  std::vector<double> ticks_;
};

}  // namespace cairn
