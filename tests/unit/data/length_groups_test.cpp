// Grouping by length: the same entries, the longest first, and batches of like length.
#include "data/length_groups.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"

namespace cairn {
namespace {

using Indices = std::vector<int64_t>;

Indices random_lengths(int64_t count, uint64_t seed) {
  const Random random(seed);
  Indices lengths;
  for (int64_t i = 0; i < count; ++i)
    lengths.push_back(2 + static_cast<int64_t>(random.below(static_cast<uint64_t>(i), 500)));
  return lengths;
}

// The positions of padded batches: each as wide as its longest.
int64_t sum_of_longest(const Indices& order, const Indices& lengths, size_t batch) {
  int64_t sum = 0;
  for (size_t begin = 0; begin < order.size(); begin += batch) {
    int64_t longest = 0;
    for (size_t i = begin; i < std::min(begin + batch, order.size()); ++i)
      longest = std::max(longest, lengths[static_cast<size_t>(order[i])]);
    sum += longest;
  }
  return sum;
}

TEST(LengthGroups, an_order_stays_a_permutation_and_starts_with_the_longest) {
  for (int64_t count : {1, 2, 7, 31, 32, 33, 1000})
    for (uint64_t seed = 0; seed < 10; ++seed) {
      const Indices lengths = random_lengths(count, seed);
      const Indices order = random_permutation(count, seed, 0);
      Indices grouped = group_by_length(order, lengths, 4);
      EXPECT_EQ(lengths[static_cast<size_t>(grouped[0])],
                *std::max_element(lengths.begin(), lengths.end()));
      std::sort(grouped.begin(), grouped.end());
      Indices all = order;
      std::sort(all.begin(), all.end());
      EXPECT_EQ(grouped, all) << count << " entries, seed " << seed;
    }
}

TEST(LengthGroups, the_longest_of_the_batches_add_up_to_less) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const Indices lengths = random_lengths(400, seed);
    const Indices order = random_permutation(400, seed, 0);
    EXPECT_LT(sum_of_longest(group_by_length(order, lengths, 8), lengths, 8),
              sum_of_longest(order, lengths, 8))
        << "seed " << seed;
  }
}

TEST(LengthGroups, pieces_are_sorted_by_themselves_so_that_the_order_stays_random) {
  // 16 entries in batches of 2: pieces of two batches. The longest, 9, changes places with the
  // first.
  const Indices lengths = {1, 2, 3, 4, 5, 6, 7, 8, 1, 9, 3, 4, 5, 6, 7, 8};
  const Indices order = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  EXPECT_EQ(group_by_length(order, lengths, 2),
            (Indices{9, 2, 1, 0, 7, 6, 5, 4, 3, 11, 10, 8, 15, 14, 13, 12}));
}

TEST(LengthGroups, no_entry_is_no_order) { EXPECT_TRUE(group_by_length({}, {}, 4).empty()); }

}  // namespace
}  // namespace cairn
