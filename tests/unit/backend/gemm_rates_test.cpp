// The measured rates of a product.
#include <gtest/gtest.h>

#include "backend/cpu/gemm/onednn.h"
#include "backend/registry.h"
#include "unit/backend/gemm_case.h"

namespace cairn::test {
namespace {

TEST(GemmRates, of_what_this_instruction_set_lacks_are_zero) {
  GemmOperands stored({.m = 64, .n = 96, .k = 64, .transpose_b = true, .b = DType::bf16});
  GemmOperands wide({.m = 64, .n = 96, .k = 64, .transpose_b = true});
  GemmOperands narrow(
      {.m = 64, .n = 96, .k = 64, .transpose_b = true, .a = DType::bf16, .b = DType::bf16});
  const int64_t bytes = gemm_rates_scratch_bytes(wide.gemm(), narrow.gemm(), 2);
  std::vector<float> scratch(static_cast<size_t>(bytes) / sizeof(float) + 1);
  const View room(reinterpret_cast<std::byte*>(scratch.data()), DType::f32,
                  {static_cast<int64_t>(scratch.size())});
  const GemmRates rates = measure_gemm_rates(stored.gemm(), wide.gemm(), narrow.gemm(), 2, room, 1);
  EXPECT_GT(rates.packed, 0);
  EXPECT_GT(rates.onednn_f32, 0);
  EXPECT_EQ(rates.onednn_bf16 > 0, cpu::onednn_has_fast_bf16());
}

}  // namespace
}  // namespace cairn::test
