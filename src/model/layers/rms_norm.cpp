#include "model/layers/rms_norm.h"

#include "ops/rms_norm.h"

namespace cairn {

void RmsNorm::forward(const Exec& exec, ConstView x, View y, View rstd) const {
  ops::rms_norm_forward(exec, x, weight->value, epsilon, y, rstd, offset);
}

void RmsNorm::backward(const Exec& exec, ConstView d_y, ConstView x, ConstView rstd,
                       View d_x) const {
  const View d_weight = weight->trainable ? weight->gradient.view() : View();
  ops::rms_norm_backward(exec, d_y, x, weight->value, rstd, d_x, d_weight, offset);
}

}  // namespace cairn
