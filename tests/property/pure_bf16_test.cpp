// pure_bf16 rounds at random, and yet a step is a function of its seed alone. That the rounding is
// right on average is a promise of the kernel: tests/parity/stochastic_rounding_test.cpp.
#include <gtest/gtest.h>

#include "support/expect_run.h"
#include "support/small_run.h"

namespace cairn::test {
namespace {

SmallRun make_pure_run(uint64_t seed) {
  SmallRun run = make_small_run(seed);
  run.spec.model.precision = TrainedPrecision::pure_bf16;
  run.spec.model.activation = run.spec.model.frozen_storage = DType::bf16;
  run.spec.optimizer = {};
  return run;
}

TEST(PureBf16, a_step_is_repeated_to_the_bit_and_another_seed_rounds_otherwise) {
  const auto one = open_backend("cpu", 1), two = open_backend("cpu", 2);
  for (uint64_t seed = 0; seed < 6; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    SmallRun run = make_pure_run(seed);
    const RunResult first = run_small(run, *two);
    expect_same_bits(first, run_small(run, *two));
    expect_same_bits(first, run_small(run, *one));
    run.spec.optimizer.seed += 1;
    const RunResult other = run_small(run, *two);
    EXPECT_EQ(other.outcomes[0].loss, first.outcomes[0].loss) << "nothing is rounded before step 1";
    EXPECT_NE(other.trained, first.trained);
  }
}

TEST(PureBf16, trained_parameters_take_2_2_0_4_bytes_where_f32_takes_4_4_0_8) {
  const TargetProfile profile = cpu_profile(2);
  SmallRun run = make_pure_run(1);
  run.spec.model.lora.reset();
  run.spec.model.quantisation.reset();
  run.spec.model.streams_weights = false;
  const Snapshot pure = rehearse(run.spec, 1, profile).snapshot;
  run.spec.model.precision = TrainedPrecision::f32;
  const Snapshot full = rehearse(run.spec, 1, profile).snapshot;
  for (Account account : {Account::weights, Account::gradients, Account::optimizer}) {
    const auto index = static_cast<size_t>(account);
    EXPECT_EQ(full.peaks_of_accounts()[index], 2 * pure.peaks_of_accounts()[index])
        << name_of(account);
  }
  const auto gradients = static_cast<size_t>(Account::gradients);
  const auto optimizer = static_cast<size_t>(Account::optimizer);
  EXPECT_EQ(pure.peaks_of_accounts()[optimizer], 2 * pure.peaks_of_accounts()[gradients]);
}

}  // namespace
}  // namespace cairn::test
