#include "model/layers/linear.h"

#include "ops/gemm.h"

namespace cairn {

LowRank Linear::fold() const {
  if (!lora_a) return {};
  return {.up = lora_b->value.view(), .down = lora_a->value.view(), .scale = lora_scale};
}

void Linear::forward(const Exec& exec, ConstView x, View y, ConstView residual) const {
  ops::gemm(exec, {.a = x,
                   .b = weight->value.view(),
                   .c = y,
                   .transpose_b = true,
                   .residual = residual,
                   .fold = fold(),
                   .quant = weight->quant});
}

void Linear::backward_input(const Exec& exec, ConstView d_y, View d_x, bool accumulate) const {
  ops::gemm(exec, {.a = d_y,
                   .b = weight->value.view(),
                   .c = d_x,
                   .beta = accumulate ? 1.0f : 0.0f,
                   .fold = fold(),
                   .quant = weight->quant});
}

void Linear::backward_parameters(const Exec& exec, ConstView d_y, ConstView x,
                                 int64_t capacity_rows) const {
  if (weight->trainable)
    ops::gemm(exec,
              {.a = d_y, .b = x, .c = weight->gradient.view(), .transpose_a = true, .beta = 1});
  if (!lora_a || !lora_a->trainable) return;

  // Both halves pass through [rows, rank]: d_B = s d_y^T (x A^T), d_A = s (d_y B)^T x.
  const int64_t rank = lora_a->shape[0];
  Tensor low = exec.make(Account::workspace, "low rank", DType::f32, {capacity_rows, rank});
  const View low_rows = low.view_rows(x.rows());
  ops::gemm(exec, {.a = x, .b = lora_a->value.view(), .c = low_rows, .transpose_b = true});
  ops::gemm(exec, {.a = d_y,
                   .b = low_rows,
                   .c = lora_b->gradient.view(),
                   .transpose_a = true,
                   .alpha = lora_scale,
                   .beta = 1});
  ops::gemm(exec, {.a = d_y, .b = lora_b->value.view(), .c = low_rows});
  ops::gemm(exec, {.a = low_rows,
                   .b = x,
                   .c = lora_a->gradient.view(),
                   .transpose_a = true,
                   .alpha = lora_scale,
                   .beta = 1});
}

}  // namespace cairn
