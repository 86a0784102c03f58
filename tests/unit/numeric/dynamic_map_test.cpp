// The maps against their published values, and the nearest code against a scan of the whole map.
#include "numeric/dynamic_map.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/random.h"
#include "reference/block_codes.h"
#include "support/tolerance.h"

namespace cairn::test {
namespace {

void expect_values(const DynamicMap& map, const std::vector<std::pair<size_t, double>>& wanted) {
  for (const auto& [code, value] : wanted)
    EXPECT_NEAR(map[code], value, tolerance(DType::f32, 1) * std::abs(value)) << "code " << code;
}

double sum_of(const DynamicMap& map) {
  double sum = 0;
  for (float value : map) sum += value;
  return sum;
}

TEST(DynamicMap, values_are_those_of_bitsandbytes) {
  expect_values(signed_dynamic_map(), {{0, -0.99296874},
                                       {1, -0.97890627},
                                       {2, -0.96484375},
                                       {63, -0.10703126},
                                       {126, -5.5e-7},
                                       {127, 0},
                                       {128, 5.5e-7},
                                       {129, 3.25e-6},
                                       {130, 7.75e-6},
                                       {191, 0.10703126},
                                       {192, 0.12109375},
                                       {253, 0.9789063},
                                       {254, 0.9929687},
                                       {255, 1}});
  expect_values(unsigned_dynamic_map(), {{0, 0},
                                         {1, 3.25e-7},
                                         {2, 7.75e-7},
                                         {3, 2.125e-6},
                                         {7, 1.5625e-5},
                                         {63, 0.010703126},
                                         {127, 0.103515625},
                                         {253, 0.98945308},
                                         {254, 0.9964844},
                                         {255, 1}});
  EXPECT_NEAR(sum_of(signed_dynamic_map()), 1.0, tolerance(DType::f32, 256));
  EXPECT_NEAR(sum_of(unsigned_dynamic_map()), 75.105263, 76 * tolerance(DType::f32, 256));
}

// What the kernels make of the table of ranks for a value in [-1, 1]: a negative one keeps its
// sign, and becomes neither 0 nor -1.
uint8_t nearest_signed_code(float value) {
  const int32_t rank = signed_dynamic_ranks().rank(value < 0 ? -value : value);
  if (!(value < 0)) return static_cast<uint8_t>(kSignedZero + rank);
  return static_cast<uint8_t>(kSignedZero - (rank < 1             ? 1
                                             : rank > kSignedZero ? kSignedZero
                                                                  : rank));
}
// In [0, 1].
uint8_t nearest_unsigned_code(float value) {
  return static_cast<uint8_t>(unsigned_dynamic_ranks().rank(value));
}

void expect_nearest(float value) {
  ASSERT_EQ(nearest_signed_code(value), reference::nearest_signed_code(value)) << value;
  if (value < 0) return;
  ASSERT_EQ(nearest_unsigned_code(value), reference::nearest_code(unsigned_dynamic_map(), value))
      << value;
}

TEST(DynamicMap, nearest_code_is_right_at_every_border_and_beside_it) {
  for (const DynamicMap* map : {&signed_dynamic_map(), &unsigned_dynamic_map()})
    for (size_t code = 0; code < 256; ++code) {
      const float next = (*map)[std::min<size_t>(code + 1, 255)];
      for (const float value : {(*map)[code], ((*map)[code] + next) * 0.5f})
        for (const float beside :
             {value, std::nextafter(value, -1.0f), std::nextafter(value, 1.0f)})
          expect_nearest(beside);
    }
}

TEST(DynamicMap, nearest_code_is_right_for_zeros_denormals_and_ends) {
  for (const float value : {0.0f, -0.0f, 0x1p-149f, -0x1p-149f, 0x1p-127f, -0x1p-127f, 0x1p-126f,
                            DynamicRanks::kLeast, -DynamicRanks::kLeast, 1.0f, -1.0f})
    expect_nearest(value);
}

TEST(DynamicMap, nearest_code_is_right_in_every_cell_and_for_random_values) {
  for (uint32_t cell = 0; cell < DynamicRanks::kCells - 1; ++cell)
    for (const uint32_t low : {0u, 1u, 0x8000u, 0xffffu})
      for (const float sign : {1.0f, -1.0f})
        expect_nearest(sign * std::bit_cast<float>((cell + DynamicRanks::kFirstCell) << 16 | low));
  const Random random(5, 1);
  for (uint64_t i = 0; i < 40000; ++i)
    expect_nearest((2 * random.uniform(2 * i) - 1) * std::exp2(-25 * random.uniform(2 * i + 1)));
}

TEST(DynamicMap, a_negative_value_keeps_its_sign_and_a_map_value_its_code) {
  EXPECT_EQ(nearest_signed_code(-1e-9f), kSignedZero - 1);
  EXPECT_EQ(nearest_signed_code(1e-9f), kSignedZero);
  EXPECT_EQ(nearest_signed_code(-1.0f), 0) << "there is no -1: the nearest is the code 0";
  for (int code = 0; code < 256; ++code) {
    const auto at = static_cast<size_t>(code);
    EXPECT_EQ(nearest_signed_code(signed_dynamic_map()[at]), code);
    EXPECT_EQ(nearest_unsigned_code(unsigned_dynamic_map()[at]), code);
  }
}

}  // namespace
}  // namespace cairn::test
