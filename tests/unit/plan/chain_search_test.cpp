// The chain search against an exhaustive one.
#include "plan/chain_search.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/random.h"

namespace cairn::test {
namespace {

// The least seconds of any sequence of options that covers `blocks` within the budget.
double exhaustive(const std::vector<ChainOption>& options, int64_t blocks, int64_t budget,
                  int64_t kept) {
  if (blocks == 0) return 0;
  double best = std::numeric_limits<double>::infinity();
  for (const ChainOption& option : options) {
    if (option.blocks > blocks || kept + option.peak_bytes > budget) continue;
    best = std::min(best, option.seconds + exhaustive(options, blocks - option.blocks, budget,
                                                      kept + option.kept_bytes));
  }
  return best;
}

std::vector<ChainOption> random_options(const Random& random) {
  std::vector<ChainOption> options;
  uint64_t draw = 0;
  const auto below = [&](uint64_t bound) {
    return static_cast<int64_t>(random.below(draw++, bound));
  };
  const int64_t count = 2 + below(4);
  for (int64_t i = 0; i < count; ++i) {
    ChainOption option;
    option.blocks = i == 0 ? 1 : 1 + below(3);
    option.kept_bytes = below(40);
    option.peak_bytes = option.kept_bytes + below(60);
    option.seconds = static_cast<double>(below(100));
    options.push_back(option);
  }
  return options;
}

TEST(ChainSearch, finds_what_an_exhaustive_search_finds) {
  int64_t feasible = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    const Random random(seed, 5);
    const std::vector<ChainOption> options = random_options(random);
    const auto blocks = 1 + static_cast<int64_t>(random.below(1000, 7));
    const auto budget = 20 + static_cast<int64_t>(random.below(1001, 200));
    const double best = exhaustive(options, blocks, budget, 0);
    // A slot a byte: nothing is rounded.
    const auto pieces = search_chain(options, blocks, budget, budget);
    ASSERT_EQ(pieces.has_value(), best < std::numeric_limits<double>::infinity()) << seed;
    if (!pieces) continue;
    ++feasible;
    double seconds = 0;
    int64_t kept = 0, covered = 0;
    for (size_t piece : *pieces) {
      EXPECT_LE(kept + options[piece].peak_bytes, budget) << seed;
      kept += options[piece].kept_bytes;
      covered += options[piece].blocks;
      seconds += options[piece].seconds;
    }
    EXPECT_EQ(covered, blocks) << seed;
    EXPECT_EQ(seconds, best) << seed;
  }
  EXPECT_GT(feasible, 100);
}

TEST(ChainSearch, coarse_slots_never_overrun_the_budget) {
  const std::vector<ChainOption> options = {{1, 10, 13, 0}, {1, 1, 13, 1}};
  for (int64_t budget = 13; budget < 220; ++budget) {
    const auto pieces = search_chain(options, 20, budget, 50);
    if (!pieces) continue;
    int64_t kept = 0;
    for (size_t piece : *pieces) {
      EXPECT_LE(kept + options[piece].peak_bytes, budget);
      kept += options[piece].kept_bytes;
    }
  }
}

TEST(ChainSearch, no_budget_no_answer) {
  const std::vector<ChainOption> options = {{1, 1, 2, 1}};
  EXPECT_FALSE(search_chain(options, 3, 0, 10));
  EXPECT_FALSE(search_chain(options, 3, 3, 3));
  EXPECT_TRUE(search_chain(options, 3, 4, 4));
}

}  // namespace
}  // namespace cairn::test
