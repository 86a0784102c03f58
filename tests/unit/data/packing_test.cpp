// Packing: every example once, no row over its capacity, and rows that are nearly as few as can be.
#include "data/packing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/bytes.h"
#include "base/error.h"
#include "base/random.h"

namespace cairn {
namespace {

using Lengths = std::vector<int64_t>;

constexpr int64_t kCapacity = 2048;

int64_t total_of(const Lengths& lengths) {
  return std::accumulate(lengths.begin(), lengths.end(), int64_t{0});
}

// Lengths as instruction data has them: log-normal, many short and a long tail, cut at the
// capacity.
Lengths instruction_lengths(int64_t count, double mean, uint64_t seed) {
  const Random random(seed);
  const double deviation = 0.8;
  Lengths lengths;
  for (int64_t i = 0; i < count; ++i) {
    const double normal = static_cast<double>(random.normal(static_cast<uint64_t>(i)));
    const double length = mean * std::exp(deviation * normal - deviation * deviation / 2);
    lengths.push_back(std::clamp(static_cast<int64_t>(length), int64_t{2}, kCapacity));
  }
  return lengths;
}

// Short, middling and nearly whole rows in equal parts.
Lengths mixed_lengths(int64_t count, uint64_t seed) {
  const Random random(seed);
  const uint64_t most[] = {100, 900, kCapacity};
  Lengths lengths;
  for (uint64_t i = 0; i < static_cast<uint64_t>(count); ++i)
    lengths.push_back(1 + static_cast<int64_t>(random.below(i, most[i % 3])));
  return lengths;
}

// Into the first row with room, in the order of the data: what packing must never be worse than.
size_t rows_of_first_fit(const Lengths& lengths, int64_t capacity) {
  Lengths tokens;
  for (int64_t length : lengths) {
    const auto row = std::find_if(tokens.begin(), tokens.end(),
                                  [&](int64_t used) { return used + length <= capacity; });
    if (row == tokens.end())
      tokens.push_back(length);
    else
      *row += length;
  }
  return tokens.size();
}

void expect_partition(const std::vector<Row>& rows, const Lengths& lengths, int64_t capacity) {
  std::vector<int> seen(lengths.size());
  for (const Row& row : rows) {
    int64_t tokens = 0;
    for (int64_t i : row.examples) {
      ++seen.at(static_cast<size_t>(i));
      tokens += lengths[static_cast<size_t>(i)];
    }
    EXPECT_EQ(row.tokens, tokens);
    EXPECT_LE(row.tokens, capacity);
    EXPECT_FALSE(row.examples.empty());
  }
  EXPECT_EQ(seen, std::vector<int>(lengths.size(), 1)) << "every example exactly once";
}

TEST(Packing, an_example_goes_into_the_fullest_row_with_room) {
  // 7 | 5 | 4 joins the 5 | 1 joins them, though the 7 is the first with room for it.
  EXPECT_EQ(pack_rows(Lengths{1, 5, 4, 7}, 10), (std::vector<Row>{{{0, 1, 2}, 10}, {{3}, 7}}));
}

TEST(Packing, of_equals_the_first_goes_first) {
  EXPECT_EQ(pack_rows(Lengths{5, 5, 5, 5, 5}, 10),
            (std::vector<Row>{{{0, 1}, 10}, {{2, 3}, 10}, {{4}, 5}}));
}

TEST(Packing, a_whole_row_and_no_example_are_taken) {
  EXPECT_EQ(pack_rows(Lengths{10}, 10), (std::vector<Row>{{{0}, 10}}));
  EXPECT_TRUE(pack_rows(Lengths{}, 10).empty());
}

TEST(Packing, an_example_longer_than_a_row_is_refused) {
  EXPECT_THROW(pack_rows(Lengths{3, 11}, 10), UserError);
}

TEST(Packing, every_example_is_in_one_row_and_no_row_is_over_capacity) {
  for (uint64_t seed = 0; seed < 30; ++seed)
    for (const Lengths& lengths : {instruction_lengths(500, 220, seed), mixed_lengths(500, seed)}) {
      SCOPED_TRACE(seed);
      expect_partition(pack_rows(lengths, kCapacity), lengths, kCapacity);
    }
}

TEST(Packing, instruction_data_fills_all_rows_but_one) {
  for (uint64_t seed = 0; seed < 30; ++seed)
    for (const double mean : {60.0, 220.0, 300.0}) {
      const Lengths lengths = instruction_lengths(1000, mean, seed);
      const auto least = ceil_div(total_of(lengths), kCapacity);
      EXPECT_LE(static_cast<int64_t>(pack_rows(lengths, kCapacity).size()), least + 1)
          << "mean " << mean << ", seed " << seed;
    }
}

TEST(Packing, it_never_takes_more_rows_than_first_fit) {
  for (uint64_t seed = 0; seed < 100; ++seed)
    for (const Lengths& lengths : {instruction_lengths(200, 400, seed), mixed_lengths(200, seed)})
      EXPECT_LE(pack_rows(lengths, kCapacity).size(), rows_of_first_fit(lengths, kCapacity))
          << "seed " << seed;
}

TEST(Packing, rows_are_a_function_of_the_lengths_and_come_in_the_order_of_the_data) {
  const Lengths lengths = mixed_lengths(300, 5);
  const std::vector<Row> rows = pack_rows(lengths, kCapacity);
  EXPECT_EQ(rows, pack_rows(lengths, kCapacity));
  EXPECT_TRUE(std::is_sorted(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return a.examples[0] < b.examples[0];
  }));
  for (const Row& row : rows) EXPECT_TRUE(std::is_sorted(row.examples.begin(), row.examples.end()));
}

TEST(Packing, without_it_each_example_is_a_row) {
  EXPECT_EQ(make_single_rows(Lengths{4, 2}), (std::vector<Row>{{{0}, 4}, {{1}, 2}}));
}

}  // namespace
}  // namespace cairn
