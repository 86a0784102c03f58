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
  // The next step follows step `step` of a run in which every tensor has had its chances by then,
  // if it `moved`: in that case none is suspected again.
  void go_on_after(int64_t step, bool moved) {
    step_ = step;
    all_had_gradients_ = moved && step >= kSettled;
  }
  // `squares` holds the sum of squares of each trained parameter's gradient, in the list's order.
  // Throws NotFinite naming the tensor whose gradient is not finite, and DeviceError naming one
  // whose gradient was zero in every one of the first two steps that could move it. Behind a weight
  // that starts at zero (a low-rank B, the outputs of a block that was added) there is none until
  // that has moved: `moved` tells whether an update with a rate above zero came before this step.
  void check(const ParameterList& parameters, std::span<const double> squares, bool moved);

  // Throws NotFinite if it is no finite number.
  void check_loss(double loss) const;
  // Throws NotFinite naming a parameter whose gradient is not finite.
  void check_finite(const Parameter& parameter, double square) const;

 private:
  // Two steps until weights have moved, where the first rate is 0, and two chances.
  static constexpr int64_t kSettled = 4;
  struct Seen {
    bool nonzero = false;
    int chances = 0;  // steps in which the gradient could have been other than zero
  };
  std::vector<Seen> seen_;
  int64_t step_ = 0;
  bool all_had_gradients_ = false;
};

}  // namespace cairn
