// The codes of NF4: its table, its thresholds, and the nearest of them.
#include "numeric/nf4.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

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

}  // namespace
}  // namespace cairn::test
