#include "ops/dropout.h"

#include "ops/check.h"

namespace cairn::ops {

void dropout(const Exec& exec, const Dropout& dropout, ConstView in, View out) {
  CAIRN_CHECK(dropout.rate >= 0 && dropout.rate < 1, "[dropout] wanted a rate in [0, 1), got {}",
              dropout.rate);
  check_float("dropout", "in", in);
  check_float("dropout", "out", out);
  check_shape("dropout", "out", out, in.shape());
  for (const auto& [name, keys] :
       {std::pair{"samples", dropout.samples}, std::pair{"positions", dropout.positions}}) {
    check_dtype("dropout", name, keys, DType::i32);
    check_elements("dropout", name, keys, in.rows());
  }
  exec.kernels().dropout(exec.stream, dropout, in, out);
}

}  // namespace cairn::ops
