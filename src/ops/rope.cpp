#include "ops/rope.h"

#include "ops/check.h"

namespace cairn::ops {

void rope(const Exec& exec, ConstView positions, ConstView table, bool inverse, View inout) {
  check_dtype("rope", "positions", positions, DType::i32);
  check_dtype("rope", "table", table, DType::f32);
  check_float("rope", "inout", inout);
  CAIRN_CHECK(inout.shape().rank() == 3 && inout.shape()[2] % 2 == 0,
              "[rope] wanted inout of shape [tokens, heads, even head_dim], got {}",
              inout.shape().to_string());
  check_elements("rope", "positions", positions, inout.rows());
  CAIRN_CHECK(table.columns() % 2 == 0 && table.columns() <= inout.shape()[2],
              "[rope] wanted a table of at most {} angles, got {}", inout.shape()[2] / 2,
              table.shape().to_string());
  exec.kernels().rope(exec.stream, positions, table, inverse, inout);
}

}  // namespace cairn::ops
