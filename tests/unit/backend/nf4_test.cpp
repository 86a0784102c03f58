// Quantised weights on the CPU: what quantise_nf4 and nest_absmax write, and products that decode
// it, against a plain decoder, on every instruction set this machine has.
#include "numeric/nf4.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "backend/cpu/cpu_kernels.h"
#include "backend/cpu/gemm/packed.h"
#include "base/bytes.h"
#include "base/random.h"
#include "hwy/targets.h"
#include "numeric/dynamic_map.h"
#include "support/tolerance.h"

namespace cairn::test {
namespace {

template <typename T>
View view_of(std::vector<T>& values, DType dtype, Shape shape) {
  return {reinterpret_cast<std::byte*>(values.data()), dtype, shape};
}
View view_of(std::vector<float>& values) {
  return view_of(values, DType::f32, {static_cast<int64_t>(values.size())});
}

std::vector<float> random_values(int64_t count, uint64_t stream) {
  std::vector<float> values(static_cast<size_t>(count));
  const Random random(11, stream);
  for (size_t i = 0; i < values.size(); ++i) values[i] = random.normal(i);
  return values;
}

// A weight [rows, columns], quantised, and what its codes say by the definition.
struct Quantised {
  Quantised(std::vector<float> values, int64_t rows, int64_t columns, bool nested,
            int64_t block = kNf4Block, int threads = 2)
      : shape{rows, columns} {
    CpuKernels kernels(threads);
    const int64_t count = rows * columns, blocks = ceil_div(count, block);
    codes.assign(static_cast<size_t>(ceil_div(count, 2)), 0xEE);
    absmax.assign(static_cast<size_t>(blocks), -1);
    kernels.quantise_nf4({}, view_of(values), block, view_of(codes, DType::u4, {count}),
                         view_of(absmax));
    quant.block = block;
    quant.table = view_of(table);
    quant.absmax = view_of(absmax);
    if (!nested) return;
    absmax_codes.assign(static_cast<size_t>(blocks), 0);
    nested_absmax.assign(static_cast<size_t>(ceil_div(blocks, kNestedBlock)), -1);
    kernels.nest_absmax({}, view_of(absmax), view_of(nested_table),
                        view_of(absmax_codes, DType::u8, {blocks}), view_of(nested_absmax),
                        view_of(offset));
    quant.absmax = view_of(absmax_codes, DType::u8, {blocks});
    quant.nested_absmax = view_of(nested_absmax);
    quant.nested_table = view_of(nested_table);
    quant.nested_offset = view_of(offset);
  }

  float decode(int64_t element) const {
    const auto at = static_cast<size_t>(element), block = at / static_cast<size_t>(quant.block);
    const uint8_t pair = codes[at / 2];
    const float value = kNf4Table[at % 2 == 0 ? pair >> 4 : pair & 15];
    if (!quant.nested()) return value * absmax[block];
    const float scale = nested_table[absmax_codes[block]] * nested_absmax[block / kNestedBlock];
    return value * (scale + offset[0]);
  }
  ConstView view() { return view_of(codes, DType::u4, shape); }

  Shape shape;
  std::vector<uint8_t> codes, absmax_codes;
  std::vector<float> absmax, nested_absmax, offset = {0};
  std::vector<float> table{kNf4Table.begin(), kNf4Table.end()};
  std::vector<float> nested_table = [] {
    const DynamicMap& map = signed_dynamic_map();
    return std::vector<float>(map.begin(), map.end());
  }();
  QuantState quant;
};

// Runs `body` once on every instruction set.
template <typename Body>
void on_every_target(const Body& body) {
  for (const int64_t target : {HWY_SCALAR, HWY_AVX2, HWY_AVX3}) {
    if (target != HWY_SCALAR && !(hwy::SupportedTargets() & target)) continue;
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    SCOPED_TRACE(hwy::TargetName(target));
    body();
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
}

// a [m, k] times the decoded weight or its transpose.
std::vector<float> multiply(std::vector<float>& a, Quantised& weight, bool transpose, int64_t m,
                            int threads = 2) {
  const int64_t k = weight.shape[transpose ? 1 : 0], n = weight.shape[transpose ? 0 : 1];
  std::vector<float> c(static_cast<size_t>(m * n));
  std::vector<std::byte> scratch(static_cast<size_t>(cpu::packed_gemm_scratch_bytes(threads)));
  Gemm gemm;
  gemm.a = view_of(a, DType::f32, {m, k});
  gemm.b = weight.view();
  gemm.c = view_of(c, DType::f32, {m, n});
  gemm.transpose_b = transpose;
  gemm.quant = weight.quant;
  cpu::packed_gemm(gemm, threads, scratch.data());
  return c;
}

// The identity times the weight is the weight, decoded to the last bit.
void expect_decoded(Quantised& weight, bool transpose) {
  const int64_t k = weight.shape[transpose ? 1 : 0], n = weight.shape[transpose ? 0 : 1];
  std::vector<float> identity(static_cast<size_t>(k * k), 0.0f);
  for (int64_t i = 0; i < k; ++i) identity[static_cast<size_t>(i * k + i)] = 1;
  const std::vector<float> c = multiply(identity, weight, transpose, k);
  for (int64_t row = 0; row < k; ++row)
    for (int64_t column = 0; column < n; ++column)
      ASSERT_EQ(c[static_cast<size_t>(row * n + column)],
                weight.decode(transpose ? column * k + row : row * n + column))
          << row << ", " << column;
}

TEST(QuantisedWeights, published_vector_has_its_codes_and_values) {
  std::vector<float> values;
  for (int i = 0; i < 64; ++i) values.push_back((static_cast<float>(37 * i % 64) - 31.5f) / 16);
  on_every_target([&] {
    const Quantised weight(values, 1, 64, false);
    EXPECT_EQ(weight.absmax[0], 1.96875f);
    std::string hex;
    for (const uint8_t byte : weight.codes) hex += fmt::format("{:02x}", byte);
    EXPECT_EQ(hex, "091c3e60a2d4f81b2e5f91c3e60a1d4f71b2e5f81c3e60a1d4e70b2d4f81c2e5");
    EXPECT_EQ(weight.decode(0), -1.96875f);
    double squared = 0;
    for (int64_t i = 0; i < 64; ++i)
      squared += std::pow(weight.decode(i) - values[static_cast<size_t>(i)], 2);
    EXPECT_NEAR(squared, 0.7118080, 1e-6);
  });
}

TEST(QuantisedWeights, published_absmax_have_their_codes) {
  std::vector<float> absmax = {1.96875f, 1, 0.5f, 0.25f, 0.75f, 1.5f};
  std::vector<uint8_t> codes(6);
  std::vector<float> nested(1), offset(1), table(256);
  const DynamicMap& map = signed_dynamic_map();
  std::copy(map.begin(), map.end(), table.begin());
  CpuKernels(1).nest_absmax({}, view_of(absmax), view_of(table), view_of(codes, DType::u8, {6}),
                            view_of(nested), view_of(offset));
  EXPECT_EQ(codes, (std::vector<uint8_t>{255, 150, 34, 16, 53, 220}));
  EXPECT_FLOAT_EQ(offset[0], 0.99479169f);
  EXPECT_FLOAT_EQ(nested[0], 0.97395831f);
}

TEST(QuantisedWeights, decoded_by_a_product_to_the_last_bit) {
  on_every_target([] {
    for (const bool nested : {false, true})
      for (const bool transpose : {false, true})
        for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{1, 1},
                                            {3, 5},
                                            {10, 40},
                                            {17, 64},
                                            {70, 129},
                                            {97, 448}}) {
          Quantised weight(random_values(rows * columns, 1), rows, columns, nested);
          expect_decoded(weight, transpose);
        }
  });
}

TEST(QuantisedWeights, every_block_size_is_decoded) {
  for (const int64_t block : {32, 128, 256, 512, 1024, 2048, 4096}) {
    Quantised weight(random_values(70 * 129, 2), 70, 129, true, block);
    expect_decoded(weight, true);
    expect_decoded(weight, false);
  }
}

TEST(QuantisedWeights, products_match_float64) {
  on_every_target([] {
    for (const bool transpose : {false, true})
      for (const int64_t m : {1, 5, 40}) {
        constexpr int64_t kOut = 150, kIn = 832;
        Quantised weight(random_values(kOut * kIn, 3), kOut, kIn, true);
        const int64_t k = transpose ? kIn : kOut, n = transpose ? kOut : kIn;
        std::vector<float> a = random_values(m * k, 4);
        const std::vector<float> c = multiply(a, weight, transpose, m);
        for (int64_t row = 0; row < m; ++row)
          for (int64_t column = 0; column < n; ++column) {
            double sum = 0, magnitude = 0;
            for (int64_t i = 0; i < k; ++i) {
              const double term = double{a[static_cast<size_t>(row * k + i)]} *
                                  weight.decode(transpose ? column * k + i : i * n + column);
              sum += term;
              magnitude += std::abs(term);
            }
            ASSERT_NEAR(c[static_cast<size_t>(row * n + column)], sum,
                        tolerance(DType::f32, k) * magnitude);
          }
      }
  });
}

TEST(QuantisedWeights, bits_depend_on_neither_threads_nor_rows) {
  Quantised one(random_values(300 * 512, 5), 300, 512, true, kNf4Block, 1);
  Quantised two(random_values(300 * 512, 5), 300, 512, true, kNf4Block, 2);
  EXPECT_EQ(one.codes, two.codes);
  EXPECT_EQ(one.absmax_codes, two.absmax_codes);
  std::vector<float> a = random_values(33 * 512, 6);
  const std::vector<float> c = multiply(a, one, true, 33, 1);
  EXPECT_EQ(c, multiply(a, two, true, 33, 2));
  std::vector<float> first(a.begin(), a.begin() + 512);
  const std::vector<float> row = multiply(first, one, true, 1);
  EXPECT_TRUE(std::equal(row.begin(), row.end(), c.begin()));
}

// A fused product is multiplied in slices of its rows, which may begin within a block.
TEST(QuantisedWeights, a_slice_of_rows_is_decoded_as_within_the_whole) {
  constexpr int64_t kRows = 70, kColumns = 130;
  on_every_target([] {
    for (const bool nested : {false, true})
      for (const int64_t first : {1, 2, 31}) {
        Quantised weight(random_values(kRows * kColumns, 9), kRows, kColumns, nested);
        std::vector<float> a = random_values(5 * kColumns, 10);
        const std::vector<float> whole = multiply(a, weight, true, 5);
        constexpr int64_t kSlice = 33;
        std::vector<float> c(5 * kSlice);
        std::vector<std::byte> scratch(static_cast<size_t>(cpu::packed_gemm_scratch_bytes(1)));
        Gemm gemm;
        gemm.a = view_of(a, DType::f32, {5, kColumns});
        gemm.b = weight.view().view_rows(first, kSlice);
        gemm.c = view_of(c, DType::f32, {5, kSlice});
        gemm.transpose_b = true;
        gemm.quant = weight.quant;
        gemm.quant.first = first * kColumns;
        cpu::packed_gemm(gemm, 1, scratch.data());
        for (int64_t row = 0; row < 5; ++row)
          for (int64_t column = 0; column < kSlice; ++column)
            ASSERT_EQ(c[static_cast<size_t>(row * kSlice + column)],
                      whole[static_cast<size_t>(row * kRows + first + column)]);
      }
  });
}

TEST(QuantisedWeights, a_block_of_zeros_stays_zero) {
  std::vector<float> values = random_values(256, 7);
  std::fill(values.begin() + 64, values.begin() + 128, 0.0f);
  const Quantised weight(values, 4, 64, false);
  for (int64_t i = 64; i < 128; ++i) EXPECT_EQ(weight.decode(i), 0.0f);
}

TEST(QuantisedWeights, a_value_that_is_not_finite_marks_its_block) {
  for (const float value : {NAN, INFINITY, -INFINITY})
    for (const int64_t at : {0, 63, 70}) {
      std::vector<float> values = random_values(71, 8);
      values[static_cast<size_t>(at)] = value;
      const Quantised weight(values, 1, 71, false);
      EXPECT_TRUE(std::isnan(weight.absmax[static_cast<size_t>(at / 64)]));
      EXPECT_FALSE(std::isnan(weight.absmax[static_cast<size_t>(1 - at / 64)]));
    }
}

}  // namespace
}  // namespace cairn::test
