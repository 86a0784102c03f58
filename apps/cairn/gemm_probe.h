// A product of a block's size on bf16 weights: the rate of this machine at this moment, timed
// between whatever else is measured.
#pragma once

#include <chrono>

#include "ops/gemm.h"
#include "ops/moving.h"

namespace cairn::program {

class GemmProbe {
 public:
  explicit GemmProbe(const Exec& exec)
      : exec_(exec),
        x_(exec.make(Account::workspace, "x", DType::bf16, {kSide, kSide})),
        w_(exec.make(Account::workspace, "w", DType::bf16, {kSide, kSide})),
        y_(exec.make(Account::workspace, "y", DType::f32, {kSide, kSide})) {
    ops::fill_random(exec, {.scale = 1, .seed = 1}, x_.view());
    ops::fill_random(exec, {.scale = 1, .seed = 2}, w_.view());
  }

  static constexpr double flops() { return 2.0 * kSide * kSide * kSide; }

  // Operations a second.
  double run() {
    using Clock = std::chrono::steady_clock;
    const auto begin = Clock::now();
    ops::gemm(exec_, {.a = x_.view(), .b = w_.view(), .c = y_.view(), .transpose_b = true});
    return flops() / std::chrono::duration<double>(Clock::now() - begin).count();
  }

 private:
  static constexpr int64_t kSide = 2048;

  const Exec& exec_;
  Tensor x_, w_, y_;
};

}  // namespace cairn::program
