#include "ops/gemm.h"

#include "ops/check.h"
#include "ops/quantise.h"

namespace cairn::ops {
namespace {

void check_operands(const Gemm& gemm) {
  for (const ConstView& view : {gemm.a, gemm.b, ConstView(gemm.c)})
    CAIRN_CHECK(view.shape().rank() == 2, "[gemm] wanted matrices, got {}",
                view.shape().to_string());
  check_float("gemm", "a", gemm.a);
  if (gemm.b.dtype() == DType::u4)
    check_quant_state("gemm", gemm.quant, gemm.b.elements());
  else
    check_float("gemm", "b", gemm.b);
  check_float("gemm", "c", gemm.c);
  const int64_t m = gemm.c.rows(), n = gemm.c.columns();
  const int64_t k = gemm.a.shape()[gemm.transpose_a ? 0 : 1];
  check_shape("gemm", "a", gemm.a, gemm.transpose_a ? Shape{k, m} : Shape{m, k});
  check_shape("gemm", "b", gemm.b, gemm.transpose_b ? Shape{n, k} : Shape{k, n});
}

void check_additions(const Gemm& gemm) {
  CAIRN_CHECK(gemm.beta == 0 || gemm.beta == 1, "[gemm] wanted beta 0 or 1, got {}", gemm.beta);
  if (gemm.residual) {
    check_shape("gemm", "residual", gemm.residual, gemm.c.shape());
    check_dtype("gemm", "residual", gemm.residual, gemm.c.dtype());
    CAIRN_CHECK(gemm.beta == 0, "[gemm] wanted beta 0 beside a residual, got {}", gemm.beta);
  }
  if (gemm.bias) {
    check_float("gemm", "bias", gemm.bias);
    check_elements("gemm", "bias", gemm.bias, gemm.c.columns());
    CAIRN_CHECK(gemm.beta == 0 && !gemm.residual,
                "[gemm] wanted a bias without beta and residual, got one beside them");
  }
  if (gemm.fold.scale == 0) return;
  const int64_t rank = gemm.fold.up.columns();
  check_float("gemm", "fold.up", gemm.fold.up);
  check_float("gemm", "fold.down", gemm.fold.down);
  check_shape("gemm", "fold.up", gemm.fold.up, {gemm.b.rows(), rank});
  check_shape("gemm", "fold.down", gemm.fold.down, {rank, gemm.b.columns()});
}

}  // namespace

void gemm(const Exec& exec, const Gemm& gemm) {
  check_operands(gemm);
  check_additions(gemm);
  Tensor scratch = exec.make_scratch("gemm scratch", exec.kernels().gemm_scratch_bytes());
  exec.kernels().gemm(exec.stream, gemm, scratch.view());
}

}  // namespace cairn::ops
