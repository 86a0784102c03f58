#include "ops/rms_norm.h"

#include "ops/check.h"

namespace cairn::ops {

void rms_norm_forward(const Exec& exec, ConstView x, ConstView weight, float epsilon, View y,
                      View rstd, float offset) {
  check_float("rms_norm_forward", "x", x);
  check_float("rms_norm_forward", "weight", weight);
  check_float("rms_norm_forward", "y", y);
  check_dtype("rms_norm_forward", "rstd", rstd, DType::f32);
  check_elements("rms_norm_forward", "weight", weight, x.columns());
  check_matrix("rms_norm_forward", "y", y, x.rows(), x.columns());
  check_elements("rms_norm_forward", "rstd", rstd, x.rows());
  exec.kernels().rms_norm_forward(exec.stream, x, weight, offset, epsilon, y, rstd);
}

void rms_norm_backward(const Exec& exec, ConstView d_y, ConstView x, ConstView weight,
                       ConstView rstd, View d_x, View d_weight, float offset) {
  check_dtype("rms_norm_backward", "d_y", d_y, DType::f32);
  check_float("rms_norm_backward", "x", x);
  check_float("rms_norm_backward", "weight", weight);
  check_dtype("rms_norm_backward", "rstd", rstd, DType::f32);
  check_dtype("rms_norm_backward", "d_x", d_x, DType::f32);
  check_matrix("rms_norm_backward", "d_y", d_y, x.rows(), x.columns());
  check_matrix("rms_norm_backward", "d_x", d_x, x.rows(), x.columns());
  check_elements("rms_norm_backward", "weight", weight, x.columns());
  check_elements("rms_norm_backward", "rstd", rstd, x.rows());
  if (d_weight) {
    check_float("rms_norm_backward", "d_weight", d_weight);
    check_elements("rms_norm_backward", "d_weight", d_weight, x.columns());
  }
  exec.kernels().rms_norm_backward(exec.stream, d_y, x, weight, offset, rstd, d_x, d_weight);
}

}  // namespace cairn::ops
