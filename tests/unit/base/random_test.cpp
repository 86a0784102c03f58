// The counter-based stream: the published answers, and a pure function of its key.
#include "base/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace cairn {
namespace {

using Words = std::array<uint32_t, 4>;

// Known answers of Random123's kat_vectors for philox4x32-10: counter, key, result. The counter is
// (index, stream), the key is the seed, least significant word first.
TEST(Random, philox_gives_the_published_answers) {
  EXPECT_EQ(Random(0, 0).words(0), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(Random(~uint64_t{0}, ~uint64_t{0}).words(~uint64_t{0}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(Random(0x299f31d0a4093822, 0x0370734413198a2e).words(0x85a308d3243f6a88),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Random, streams_of_another_key_differ) {
  EXPECT_NE(Random(1, 0).words(0), Random(0, 0).words(0));
  EXPECT_NE(Random(0, 1).words(0), Random(0, 0).words(0));
  EXPECT_EQ(Random(3, 4).word(9), Random(3, 4).words(2)[1]);
}

TEST(Random, uniform_lies_in_the_half_open_unit) {
  const Random random(1);
  double mean = 0;
  for (uint64_t i = 0; i < 10000; ++i) {
    const float value = random.uniform(i);
    ASSERT_GE(value, 0.0f);
    ASSERT_LT(value, 1.0f);
    mean += value / 10000;
  }
  // Five standard deviations of the mean of that many.
  EXPECT_NEAR(mean, 0.5, 5 * std::sqrt(1.0 / 12 / 10000));
}

TEST(Random, normal_has_mean_0_and_variance_1) {
  const Random random(2);
  constexpr uint64_t kCount = 10000;
  double sum = 0, squares = 0;
  for (uint64_t i = 0; i < kCount; ++i) {
    const double value = random.normal(i);
    ASSERT_TRUE(std::isfinite(value));
    sum += value;
    squares += value * value;
  }
  EXPECT_NEAR(sum / kCount, 0, 5 * std::sqrt(1.0 / kCount));
  EXPECT_NEAR(squares / kCount, 1, 5 * std::sqrt(2.0 / kCount));
}

TEST(Random, a_permutation_holds_every_number_once) {
  for (const int64_t count : {0, 1, 2, 1000}) {
    const auto order = random_permutation(count, 5, 6);
    const std::set<int64_t> seen(order.begin(), order.end());
    EXPECT_EQ(static_cast<int64_t>(seen.size()), count);
    if (count > 0) {
      EXPECT_EQ(*seen.begin(), 0);
      EXPECT_EQ(*seen.rbegin(), count - 1);
    }
    EXPECT_EQ(order, random_permutation(count, 5, 6));
  }
  EXPECT_NE(random_permutation(1000, 5, 6), random_permutation(1000, 5, 7));
}

}  // namespace
}  // namespace cairn
