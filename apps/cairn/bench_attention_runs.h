// What cairn bench attention runs in turns: one layer's attention, tiled or materialised, and a
// product. Each takes its memory from the arena it is given.
#pragma once

#include <cmath>

#include "model/layers/attention.h"
#include "ops/attention.h"
#include "ops/gemm.h"
#include "ops/moving.h"

namespace cairn::program {

// Llama 3's attention.
inline constexpr int64_t kHeads = 32, kKvHeads = 8, kHeadDim = 128;

// One sequence through one layer's attention in bf16, with what the model keeps around it.
class AttentionRun {
 public:
  AttentionRun(const Exec& exec, int64_t tokens, AttentionKind kind)
      : exec_(exec),
        kind_(kind),
        tokens_(tokens),
        q_(make("q", DType::bf16, kHeads)),
        k_(make("k", DType::bf16, kKvHeads)),
        v_(make("v", DType::bf16, kKvHeads)),
        out_(make("out", DType::bf16, kHeads)),
        d_out_(make("d out", DType::f32, kHeads)),
        d_q_(make("d q", DType::f32, kHeads)),
        d_k_(make("d k", DType::f32, kKvHeads)),
        d_v_(make("d v", DType::f32, kKvHeads)),
        cu_(exec.make(Account::weights, "cu segments", DType::i32, {2})) {
    const int32_t starts[] = {0, static_cast<int32_t>(tokens)};
    exec.backend.device().copy_to_device(exec.stream, starts, cu_.view().data(), sizeof starts);
    for (Tensor* tensor : {&q_, &k_, &v_, &d_out_})
      ops::fill_random(exec, {.normal = true, .scale = 1, .seed = 1}, tensor->view());
  }

  void run() {
    const Attention attention{.q = q_.view(),
                              .k = k_.view(),
                              .v = v_.view(),
                              .cu_queries = cu_.view(),
                              .cu_keys = cu_.view(),
                              .scale = 1 / std::sqrt(static_cast<float>(kHeadDim))};
    if (kind_ == AttentionKind::materialised) {
      Tensor probabilities =
          exec_.make(Account::workspace, "probabilities", DType::bf16, {tokens_, kHeads, tokens_});
      const View square = probabilities.view();
      ops::attention_materialised_forward(exec_, attention, out_.view(), square);
      ops::attention_materialised_backward(exec_, attention, square, d_out_.view(), d_q_.view(),
                                           d_k_.view(), d_v_.view());
      return;
    }
    Tensor log_sum_exp =
        exec_.make(Account::workspace, "log sum exp", DType::f32, {tokens_, kHeads});
    ops::attention_forward(exec_, attention, out_.view(), log_sum_exp.view());
    Tensor delta = exec_.make(Account::workspace, "delta", DType::f32, {tokens_, kHeads});
    ops::attention_backward(exec_, attention, out_.view(), log_sum_exp.view(), d_out_.view(),
                            delta.view(), d_q_.view(), d_k_.view(), d_v_.view());
  }

 private:
  // Inputs and results are not what attention takes: they are charged apart from its workspace.
  Tensor make(std::string_view label, DType dtype, int64_t heads) const {
    return exec_.make(Account::weights, label, dtype, {tokens_, heads, kHeadDim});
  }

  const Exec& exec_;
  AttentionKind kind_;
  int64_t tokens_;
  Tensor q_, k_, v_, out_, d_out_, d_q_, d_k_, d_v_, cu_;
};

// A square product of bf16 operands by the gemm door.
class ProductRun {
 public:
  explicit ProductRun(const Exec& exec)
      : exec_(exec), a_(make(DType::bf16)), b_(make(DType::bf16)), c_(make(DType::f32)) {
    for (Tensor* tensor : {&a_, &b_})
      ops::fill_random(exec, {.scale = 1, .seed = 1}, tensor->view());
  }
  void run() {
    ops::gemm(exec_, {.a = a_.view(), .b = b_.view(), .c = c_.view(), .transpose_b = true});
  }
  static constexpr double kOperations = 2.0 * 2048 * 2048 * 2048;

 private:
  Tensor make(DType dtype) const {
    return exec_.make(Account::weights, "product", dtype, {2048, 2048});
  }
  const Exec& exec_;
  Tensor a_, b_, c_;
};

}  // namespace cairn::program
