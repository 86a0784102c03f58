// bf16 and f16 in scalar form: every value survives, and ties go to even.
#include "numeric/bfloat16.h"

#include <gtest/gtest.h>

#include <limits>

namespace cairn {
namespace {

float with_bits(uint32_t bits) { return std::bit_cast<float>(bits); }

TEST(Bfloat16, every_value_survives_the_trip_through_f32) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const bf16 value{static_cast<uint16_t>(bits)};
    if (std::isnan(to_float(value)))
      EXPECT_TRUE(std::isnan(to_float(to_bf16(to_float(value)))));
    else
      ASSERT_EQ(to_bf16(to_float(value)).bits, value.bits);
  }
}

TEST(Bfloat16, ties_go_to_even_and_the_rest_to_the_nearest) {
  EXPECT_EQ(to_bf16(with_bits(0x3f808000)).bits, 0x3f80);  // halfway above an even one
  EXPECT_EQ(to_bf16(with_bits(0x3f818000)).bits, 0x3f82);  // halfway above an odd one
  EXPECT_EQ(to_bf16(with_bits(0x3f808001)).bits, 0x3f81);
  EXPECT_EQ(to_bf16(with_bits(0x3f817fff)).bits, 0x3f81);
  EXPECT_EQ(to_bf16(with_bits(0xbf818000)).bits, 0xbf82);
}

TEST(Bfloat16, overflow_is_infinite_and_nan_stays_nan) {
  EXPECT_EQ(to_bf16(std::numeric_limits<float>::max()).bits, 0x7f80);
  EXPECT_EQ(to_bf16(-std::numeric_limits<float>::infinity()).bits, 0xff80);
  EXPECT_TRUE(std::isnan(to_float(to_bf16(with_bits(0x7f800001)))));
}

TEST(Float16, known_values_are_read) {
  EXPECT_EQ(f16_to_float(0x3c00), 1.0f);
  EXPECT_EQ(f16_to_float(0xc000), -2.0f);
  EXPECT_EQ(f16_to_float(0x7bff), 65504.0f);
  EXPECT_EQ(f16_to_float(0x0001), std::ldexp(1.0f, -24));
  EXPECT_EQ(f16_to_float(0x83ff), -1023 * std::ldexp(1.0f, -24));
  EXPECT_TRUE(std::isinf(f16_to_float(0x7c00)));
  EXPECT_TRUE(std::isnan(f16_to_float(0x7e00)));
  EXPECT_EQ(f16_to_float(0x8000), 0.0f);
  EXPECT_TRUE(std::signbit(f16_to_float(0x8000)));
}

}  // namespace
}  // namespace cairn
