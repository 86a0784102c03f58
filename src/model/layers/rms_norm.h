// RmsNorm: y = (w + offset) * x / sqrt(mean(x^2) + epsilon), over the last axis.
#pragma once

#include "model/parameter.h"
#include "model/pass.h"

namespace cairn {

struct RmsNorm {
  Parameter* weight = nullptr;  // [hidden]; none: the model has no such norm
  float epsilon = 1e-5f;
  float offset = 0;

  explicit operator bool() const { return weight != nullptr; }
  // x, y [rows, hidden]; rstd [rows] f32.
  void forward(const Exec& exec, ConstView x, View y, View rstd) const;
  // d_x [rows, hidden] f32 is added to.
  void backward(const Exec& exec, ConstView d_y, ConstView x, ConstView rstd, View d_x) const;
};

}  // namespace cairn
