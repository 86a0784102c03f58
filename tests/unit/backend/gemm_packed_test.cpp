// The packed product against float64, over every mix of storage, transposition and option, on
// ragged extents and on every instruction set this machine has; and what its bits may depend on.
#include <gtest/gtest.h>

#include "backend/cpu/gemm/packed.h"
#include "support/only_target.h"
#include "unit/backend/gemm_case.h"

namespace cairn::test {
namespace {

void run(GemmOperands& operands, int threads) {
  GemmScratch scratch(threads);
  operands.result = operands.start;
  cpu::packed_gemm(operands.gemm(), threads, scratch.data());
  ASSERT_TRUE(scratch.guards_hold());
}

void expect_right(const GemmCase& spec, int threads = 2) {
  GemmOperands operands(spec);
  run(operands, threads);
  operands.expect_close();
}

constexpr DType kStorage[] = {DType::f32, DType::bf16};

std::vector<int64_t> targets() {
  std::vector<int64_t> list = {HWY_SCALAR};
  for (int64_t target : {HWY_AVX2, HWY_AVX3})
    if (hwy::SupportedTargets() & target) list.push_back(target);
  return list;
}

TEST(PackedGemm, every_storage_and_option_matches_float64) {
  for (int bits = 0; bits < 32; ++bits)
    for (int option = 0; option < 4; ++option)
      for (int64_t rank : {0, 5}) {
        GemmCase spec{.m = 19, .n = 53, .k = 23};
        spec.a = kStorage[bits & 1];
        spec.b = kStorage[bits >> 1 & 1];
        spec.c = kStorage[bits >> 2 & 1];
        spec.transpose_a = bits >> 3 & 1;
        spec.transpose_b = bits >> 4 & 1;
        spec.beta = option == 1 ? 1.0f : 0.0f;
        spec.residual = option == 2;
        spec.alpha = option == 3 ? 0.375f : 1.0f;
        spec.rank = rank;
        expect_right(spec);
      }
}

TEST(PackedGemm, ragged_extents_match_float64) {
  constexpr int64_t kExtents[] = {0, 1, 2, 3, 7, 8, 9, 17, 47, 49, 97};
  for (int64_t m : kExtents)
    for (int64_t n : kExtents)
      for (int64_t k : {0, 1, 3, 8, 21})
        for (int transposed = 0; transposed < 4; ++transposed)
          expect_right({.m = m,
                        .n = n,
                        .k = k,
                        .transpose_a = (transposed & 1) != 0,
                        .transpose_b = (transposed & 2) != 0,
                        .b = DType::bf16});
}

TEST(PackedGemm, many_blocks_of_depth_and_columns_match_float64) {
  for (int bits = 0; bits < 16; ++bits) {
    GemmCase spec{.m = 101, .n = 805, .k = 803};
    spec.transpose_a = bits & 1;
    spec.transpose_b = bits >> 1 & 1;
    spec.c = kStorage[bits >> 2 & 1];
    spec.beta = bits >> 3 & 1 ? 1.0f : 0.0f;
    spec.residual = spec.beta == 0;
    spec.rank = bits & 4 ? 0 : 16;
    spec.alpha = 0.5f;
    expect_right(spec);
  }
}

TEST(PackedGemm, few_columns_or_rows_match_float64) {
  for (int bits = 0; bits < 32; ++bits)
    for (int64_t few : {3, 8, 13, 16, 20}) {
      GemmCase spec{.m = 130, .n = few, .k = 803};
      if (bits & 1) std::swap(spec.m, spec.n);
      spec.transpose_a = bits >> 1 & 1;
      spec.transpose_b = bits >> 2 & 1;
      spec.c = kStorage[bits >> 3 & 1];
      spec.beta = bits >> 4 & 1 ? 1.0f : 0.0f;
      spec.residual = spec.beta == 0;
      expect_right(spec);
    }
}

TEST(PackedGemm, large_fold_ranks_match_float64) {
  for (int64_t rank : {64, 256, 300})
    for (bool transposed : {false, true})
      expect_right(
          {.m = 9, .n = 61, .k = 391, .transpose_b = transposed, .b = DType::bf16, .rank = rank});
}

TEST(PackedGemm, every_instruction_set_matches_float64) {
  for (int64_t target : targets()) {
    SCOPED_TRACE(hwy::TargetName(target));
    const OnlyTarget only(target);
    for (int bits = 0; bits < 32; ++bits) {
      GemmCase spec{.m = 21, .n = 59, .k = 407};
      spec.a = kStorage[bits & 1];
      spec.b = kStorage[bits >> 1 & 1];
      spec.c = kStorage[bits >> 2 & 1];
      spec.transpose_a = bits >> 3 & 1;
      spec.transpose_b = bits >> 4 & 1;
      spec.residual = bits & 1;
      spec.rank = bits & 2 ? 8 : 0;
      expect_right(spec);
    }
  }
}

TEST(PackedGemm, beta_zero_never_reads_c) {
  for (DType c : kStorage) {
    GemmOperands operands({.m = 13, .n = 50, .k = 900, .c = c});
    for (int64_t i = 0; i < 13 * 50; ++i) operands.start.set(i, NAN);
    run(operands, 2);
    operands.expect_close();
  }
}

TEST(PackedGemm, residual_may_be_c_itself) {
  GemmOperands operands({.m = 30, .n = 70, .k = 500, .beta = 1});
  Gemm gemm = operands.gemm();
  gemm.beta = 0;
  gemm.residual = gemm.c;
  GemmScratch scratch(2);
  cpu::packed_gemm(gemm, 2, scratch.data());
  operands.expect_close();
}

TEST(PackedGemm, bits_do_not_depend_on_threads) {
  for (DType c : kStorage)
    for (int bits = 0; bits < 4; ++bits) {
      GemmOperands operands({.m = 203,
                             .n = 1000,
                             .k = 800,
                             .transpose_a = (bits & 1) != 0,
                             .transpose_b = (bits & 2) != 0,
                             .b = DType::bf16,
                             .c = c,
                             .rank = 8});
      run(operands, 1);
      const auto one = operands.result.bytes();
      for (int threads : {2, 3, 5}) {
        run(operands, threads);
        EXPECT_EQ(one, operands.result.bytes()) << threads << " threads";
      }
    }
}

TEST(PackedGemm, bits_of_a_row_do_not_depend_on_the_other_rows) {
  for (int bits = 0; bits < 8; ++bits)
    for (int64_t n : {101, 13}) {
      GemmCase spec{.m = 1100, .n = n, .k = 777, .a = DType::bf16, .residual = true};
      spec.transpose_b = bits & 1;
      spec.c = kStorage[bits >> 1 & 1];
      spec.rank = bits & 4 ? 6 : 0;
      GemmOperands operands(spec);
      run(operands, 2);
      const auto whole = operands.result.bytes();
      operands.result = operands.start;
      GemmScratch scratch(2);
      int64_t row = 0;
      for (int64_t rows : {1, 2, 3, 4, 5, 8, 11, 16, 17, 33, 500, 500}) {
        Gemm gemm = operands.gemm();
        gemm.a = gemm.a.view_rows(row, rows);
        gemm.c = gemm.c.view_rows(row, rows);
        gemm.residual = gemm.residual.view_rows(row, rows);
        cpu::packed_gemm(gemm, 2, scratch.data());
        row += rows;
      }
      ASSERT_EQ(row, spec.m);
      EXPECT_EQ(whole, operands.result.bytes()) << spec.to_string();
    }
}

TEST(PackedGemm, rounds_to_bf16_like_the_scalar) {
  // Ties, infinities, NaN and the largest finite values pass through a product with one.
  std::vector<float> values = {1.00390625f, 1.01171875f,   -1.00390625f, INFINITY, -INFINITY,
                               NAN,         3.3961776e38f, 1e-40f,       -0.0f,    1.001f};
  const auto n = static_cast<int64_t>(values.size());
  GemmOperands operands({.m = 1, .n = n, .k = 1, .c = DType::bf16});
  operands.a.set(0, 1);
  for (int64_t i = 0; i < n; ++i) operands.b.set(i, values[static_cast<size_t>(i)]);
  run(operands, 1);
  for (int64_t i = 0; i < n; ++i) {
    const float want = to_float(to_bf16(values[static_cast<size_t>(i)]));
    const auto got = static_cast<float>(operands.result.at(i));
    if (std::isnan(want))
      EXPECT_TRUE(std::isnan(got));
    else
      EXPECT_EQ(want, got) << values[static_cast<size_t>(i)];
  }
}

}  // namespace
}  // namespace cairn::test
