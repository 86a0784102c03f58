#include "train/gradient_watch.h"

#include <cmath>

#include "base/error.h"

namespace cairn {

void GradientWatch::check(const ParameterList& parameters, std::span<const double> squares,
                          bool moved) {
  seen_.resize(squares.size());
  size_t index = 0;
  for (const Parameter& parameter : parameters) {
    if (!parameter.trainable) continue;
    Seen& seen = seen_[index];
    const double square = squares[index++];
    check_finite(parameter, square);
    seen.nonzero = seen.nonzero || square > 0 || all_had_gradients_;
    if (moved) ++seen.chances;
    if (!seen.nonzero && seen.chances >= 2)
      throw DeviceError(fmt::format(
          "step {}: '{}' is trained but its gradient has been zero since the start; training it "
          "would change nothing",
          step_, parameter.name));
  }
}

void GradientWatch::check_loss(double loss) const {
  if (!std::isfinite(loss)) throw NotFinite(fmt::format("step {}: the loss is not finite", step_));
}

void GradientWatch::check_finite(const Parameter& parameter, double square) const {
  if (!std::isfinite(square))
    throw NotFinite(
        fmt::format("step {}: the gradient of '{}' is not finite", step_, parameter.name));
}

}  // namespace cairn
