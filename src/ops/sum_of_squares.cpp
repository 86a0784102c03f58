#include "ops/sum_of_squares.h"

#include "ops/check.h"

namespace cairn::ops {

void sum_of_squares(const Exec& exec, ConstView in, View out) {
  check_float("sum_of_squares", "in", in);
  check_dtype("sum_of_squares", "out", out, DType::f64);
  check_elements("sum_of_squares", "out", out, 1);
  Tensor scratch =
      exec.make_scratch("sum of squares scratch", exec.kernels().sum_of_squares_scratch_bytes());
  exec.kernels().sum_of_squares(exec.stream, in, out, scratch.view());
}

}  // namespace cairn::ops
