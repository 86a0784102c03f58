#include "ops/embedding.h"

#include "ops/check.h"

namespace cairn::ops {

void embedding_forward(const Exec& exec, ConstView ids, ConstView table, View out, float scale) {
  check_dtype("embedding_forward", "ids", ids, DType::i32);
  check_float("embedding_forward", "table", table);
  check_float("embedding_forward", "out", out);
  check_matrix("embedding_forward", "out", out, ids.elements(), table.columns());
  exec.kernels().embedding_forward(exec.stream, ids, table, scale, out);
}

void embedding_backward(const Exec& exec, ConstView ids, ConstView d_out, View d_table,
                        float scale) {
  check_dtype("embedding_backward", "ids", ids, DType::i32);
  check_dtype("embedding_backward", "d_out", d_out, DType::f32);
  check_float("embedding_backward", "d_table", d_table);
  check_matrix("embedding_backward", "d_out", d_out, ids.elements(), d_table.columns());
  exec.kernels().embedding_backward(exec.stream, ids, d_out, scale, d_table);
}

}  // namespace cairn::ops
