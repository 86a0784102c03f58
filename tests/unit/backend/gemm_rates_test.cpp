// The measured rate of a product.
#include <gtest/gtest.h>

#include "backend/cpu/gemm/rates.h"
#include "unit/backend/gemm_case.h"

namespace cairn::test {
namespace {

TEST(GemmRates, a_product_has_a_rate_and_is_computed) {
  GemmOperands operands({.m = 64, .n = 96, .k = 64, .transpose_b = true, .b = DType::bf16});
  GemmScratch scratch(2);
  const double flops =
      cpu::measure_gemm_flops(operands.gemm(), 2, scratch.data(), cpu::ComputeType::f32, 0.001);
  EXPECT_GT(flops, 0);
  EXPECT_LT(flops, 1e16);
  operands.expect_close();
}

}  // namespace
}  // namespace cairn::test
