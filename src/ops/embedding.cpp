#include "ops/embedding.h"

#include <algorithm>

#include "ops/check.h"

namespace cairn::ops {

void embedding_forward(const Exec& exec, ConstView ids, ConstView table, View out, float scale) {
  check_dtype("embedding_forward", "ids", ids, DType::i32);
  check_float("embedding_forward", "table", table);
  check_float("embedding_forward", "out", out);
  check_matrix("embedding_forward", "out", out, ids.elements(), table.columns());
  exec.kernels().embedding_forward(exec.stream, ids, table, scale, out);
}

void embedding_backward(const Exec& exec, ConstView ids, ConstView d_out, View d_table, float scale,
                        int64_t capacity) {
  check_dtype("embedding_backward", "ids", ids, DType::i32);
  check_dtype("embedding_backward", "d_out", d_out, DType::f32);
  check_float("embedding_backward", "d_table", d_table);
  check_matrix("embedding_backward", "d_out", d_out, ids.elements(), d_table.columns());
  Tensor order;
  if (d_table.dtype() != DType::f32)
    order = exec.make(Account::workspace, "tokens by id", DType::i32,
                      {std::max(capacity, ids.elements())});
  exec.kernels().embedding_backward(exec.stream, ids, d_out, scale, d_table, order.view());
}

}  // namespace cairn::ops
