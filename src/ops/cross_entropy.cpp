#include "ops/cross_entropy.h"

#include "ops/check.h"

namespace cairn::ops {

void cross_entropy(const Exec& exec, ConstView labels, float scale, bool gradient, View logits,
                   View row_loss, float softcap) {
  check_dtype("cross_entropy", "labels", labels, DType::i32);
  check_dtype("cross_entropy", "logits", logits, DType::f32);
  check_dtype("cross_entropy", "row_loss", row_loss, DType::f32);
  check_elements("cross_entropy", "labels", labels, logits.rows());
  check_elements("cross_entropy", "row_loss", row_loss, logits.rows());
  exec.kernels().cross_entropy(exec.stream, labels, scale, softcap, gradient, logits, row_loss);
}

}  // namespace cairn::ops
