// The codes of NF4 and the signed dynamic map against the numbers that bitsandbytes has.
#include "numeric/nf4.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "numeric/dynamic_map.h"

namespace cairn::test {
namespace {

TEST(Nf4, every_table_value_has_its_own_code) {
  for (size_t code = 0; code < kNf4Table.size(); ++code) EXPECT_EQ(nf4_code(kNf4Table[code]), code);
}

TEST(Nf4, a_value_on_a_threshold_takes_the_lower_code) {
  for (size_t i = 0; i < kNf4Thresholds.size(); ++i) {
    EXPECT_EQ(nf4_code(kNf4Thresholds[i]), i);
    EXPECT_EQ(nf4_code(std::nextafter(kNf4Thresholds[i], 2.0f)), i + 1);
  }
}

TEST(Nf4, a_value_has_the_code_of_the_nearest_table_value) {
  for (int i = -4000; i <= 4000; ++i) {
    const float value = static_cast<float>(i) / 4000;
    const auto nearest = std::min_element(
        kNf4Table.begin(), kNf4Table.end(),
        [&](float a, float b) { return std::abs(a - value) < std::abs(b - value); });
    EXPECT_EQ(nf4_code(value), nearest - kNf4Table.begin()) << value;
  }
}

// The sum, the ends and the middle as published; other makers' maps differ by some units in the
// last place.
TEST(DynamicMap, signed_map_equals_that_of_bitsandbytes) {
  const DynamicMap& map = signed_dynamic_map();
  EXPECT_TRUE(std::is_sorted(map.begin(), map.end()));
  const auto near = [&](size_t index, float value) {
    EXPECT_NEAR(map[index], value, std::abs(value) * 4e-7f) << index;
  };
  near(0, -0.99296874f);
  near(1, -0.97890627f);
  near(63, -0.10703126f);
  near(126, -5.5e-7f);
  EXPECT_EQ(map[127], 0.0f);
  near(128, 5.5e-7f);
  near(129, 3.25e-6f);
  near(191, 0.10703126f);
  near(192, 0.12109375f);
  near(254, 0.9929687f);
  EXPECT_EQ(map[255], 1.0f);
  EXPECT_NEAR(std::accumulate(map.begin(), map.end(), 0.0), 1.0, 1e-5);
}

}  // namespace
}  // namespace cairn::test
