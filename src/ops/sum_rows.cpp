#include "ops/sum_rows.h"

#include "ops/check.h"

namespace cairn::ops {

void sum_rows(const Exec& exec, ConstView in, View out) {
  check_float("sum_rows", "in", in);
  check_float("sum_rows", "out", out);
  check_elements("sum_rows", "out", out, in.columns());
  exec.kernels().sum_rows(exec.stream, in, out);
}

}  // namespace cairn::ops
