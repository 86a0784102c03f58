// oneDNN's product against float64, and which products the door hands to it.
#include <gtest/gtest.h>

#include "backend/cpu/gemm/onednn.h"
#include "backend/cpu/gemm/packed.h"
#include "unit/backend/gemm_case.h"

namespace cairn::test {
namespace {

constexpr DType kStorage[] = {DType::f32, DType::bf16};

GemmCase narrow_case() {
  return {.m = 33, .n = 70, .k = 500, .transpose_b = true, .a = DType::bf16, .b = DType::bf16};
}

TEST(OnednnGemm, what_it_takes_matches_float64) {
  for (int bits = 0; bits < 16; ++bits)
    for (int option = 0; option < 3; ++option) {
      GemmCase spec = narrow_case();
      spec.a = spec.b = kStorage[bits & 1];
      spec.c = kStorage[bits >> 1 & 1];
      spec.transpose_a = bits >> 2 & 1;
      spec.transpose_b = bits >> 3 & 1;
      spec.beta = option == 1 ? 1.0f : 0.0f;
      spec.residual = option == 2;
      GemmOperands operands(spec);
      if (!cpu::onednn_takes(operands.gemm())) continue;
      for (int threads : {1, 2}) {
        std::vector<std::byte> scratch(
            static_cast<size_t>(cpu::onednn_gemm_scratch_bytes(operands.gemm(), threads)));
        operands.result = operands.start;
        cpu::onednn_gemm(operands.gemm(), threads, scratch.data());
        operands.expect_close();
      }
    }
}

TEST(OnednnGemm, declines_what_it_cannot_express) {
  GemmCase folded = narrow_case();
  folded.rank = 4;
  EXPECT_FALSE(cpu::onednn_takes(GemmOperands(folded).gemm()));
  GemmCase scaled = narrow_case();
  scaled.alpha = 0.5f;
  EXPECT_FALSE(cpu::onednn_takes(GemmOperands(scaled).gemm()));
  GemmCase mixed = narrow_case();
  mixed.a = DType::f32;
  EXPECT_FALSE(cpu::onednn_takes(GemmOperands(mixed).gemm()));
  GemmCase empty = narrow_case();
  empty.k = 0;
  EXPECT_FALSE(cpu::onednn_takes(GemmOperands(empty).gemm()));
}

TEST(GemmDoor, f32_compute_is_always_packed) {
  EXPECT_EQ(cpu::choose_gemm(GemmOperands(narrow_case()).gemm(), 2, cpu::ComputeType::f32),
            cpu::GemmImplementation::packed);
}

TEST(GemmDoor, bf16_compute_takes_the_matrix_units_where_there_are_any) {
  const auto wanted = cpu::onednn_has_fast_bf16() ? cpu::GemmImplementation::onednn
                                                  : cpu::GemmImplementation::packed;
  EXPECT_EQ(cpu::choose_gemm(GemmOperands(narrow_case()).gemm(), 2, cpu::ComputeType::bf16),
            wanted);
  GemmCase wide = narrow_case();
  wide.b = DType::f32;
  EXPECT_EQ(cpu::choose_gemm(GemmOperands(wide).gemm(), 2, cpu::ComputeType::bf16),
            cpu::GemmImplementation::packed);
}

TEST(GemmDoor, both_compute_types_match_float64_within_the_promised_scratch) {
  for (cpu::ComputeType compute : {cpu::ComputeType::f32, cpu::ComputeType::bf16}) {
    GemmOperands operands(narrow_case());
    GemmScratch scratch(2);
    cpu::gemm(operands.gemm(), 2, scratch.data(), compute);
    operands.expect_close();
    EXPECT_TRUE(scratch.guards_hold());
  }
}

}  // namespace
}  // namespace cairn::test
