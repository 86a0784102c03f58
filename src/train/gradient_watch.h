// GradientWatch: a run in which a trained tensor gets no gradient looks like training and is none.
// It is told every tensor's squared norm at every step, and stops the run that it would spoil.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/parameter.h"

namespace cairn {

class GradientWatch {
 public:
  void begin_step() { ++step_; }
  // `squares` holds the sum of squares of each trained parameter's gradient, in the list's order.
  // Throws DeviceError naming the tensor whose gradient is not finite, or was zero in every one of
  // the first two steps that could move it. A low-rank A has none until B, which starts at zero,
  // has moved: `moved` tells whether an update with a rate above zero came before this step.
  void check(const ParameterList& parameters, std::span<const double> squares, bool moved);

  // Throws DeviceError naming a parameter whose gradient is not finite.
  void check_finite(const Parameter& parameter, double square) const;

 private:
  struct Seen {
    bool nonzero = false;
    int chances = 0;  // steps in which the gradient could have been other than zero
  };
  std::vector<Seen> seen_;
  int64_t step_ = 0;
};

}  // namespace cairn
