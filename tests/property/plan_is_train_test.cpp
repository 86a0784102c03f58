// The promise: what the rehearsal says of memory is what the run takes, per account, to the byte.
#include <gtest/gtest.h>

#include <cmath>

#include "support/small_run.h"

namespace cairn::test {
namespace {

class PlanIsTrain : public ::testing::TestWithParam<int> {};

void expect_equal_to_the_byte(const SmallRun& run, Backend& backend) {
  Rehearsal rehearsal;
  const RunResult result = run_small(run, backend, &rehearsal);
  EXPECT_EQ(result.snapshot.peak_bytes(), rehearsal.snapshot.peak_bytes());
  EXPECT_EQ(result.snapshot.accounts_at_peak(), rehearsal.snapshot.accounts_at_peak());
  EXPECT_EQ(result.snapshot.peaks_of_accounts(), rehearsal.snapshot.peaks_of_accounts());
  EXPECT_EQ(result.snapshot.peak_phase, rehearsal.snapshot.peak_phase);
  EXPECT_GE(rehearsal.arena_bytes(), rehearsal.snapshot.peak_bytes());
  EXPECT_EQ(result.left_after, 0) << "the ledger must return to zero";
  for (const StepOutcome& outcome : result.outcomes) EXPECT_TRUE(std::isfinite(outcome.loss));
}

TEST_P(PlanIsTrain, accounts_are_equal_to_the_byte) {
  const auto backend = open_backend("cpu", 2);
  for (uint64_t i = 0; i < 10; ++i) {
    const uint64_t seed = static_cast<uint64_t>(GetParam()) * 10 + i;
    SCOPED_TRACE("make_small_run(" + std::to_string(seed) + ")");
    expect_equal_to_the_byte(make_small_run(seed), *backend);
  }
}

INSTANTIATE_TEST_SUITE_P(seeds, PlanIsTrain, ::testing::Range(0, 20));

TEST(PackedPlanIsTrain, accounts_are_equal_to_the_byte) {
  const auto backend = open_backend("cpu", 2);
  for (uint64_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE("make_packed_run(" + std::to_string(seed) + ")");
    expect_equal_to_the_byte(make_packed_run(seed), *backend);
  }
}

}  // namespace
}  // namespace cairn::test
