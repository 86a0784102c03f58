// The states of optimizers: the same bits wherever they stay, and never more memory than was
// allowed.
#include <gtest/gtest.h>

#include "files/page_file.h"
#include "model/known_models.h"
#include "support/expect_run.h"
#include "support/small_run.h"
#include "support/tolerance.h"

namespace cairn::test {
namespace {

int64_t peak_of(const Snapshot& snapshot, Place place) {
  return snapshot
      .account_peaks[static_cast<size_t>(place)][static_cast<size_t>(Account::optimizer)];
}

SmallRun make_run(uint64_t seed, TrainedPrecision precision, OptimizerSettings optimizer) {
  SmallRun run = make_small_run(seed);
  run.spec.model.lora.reset();
  run.spec.model.quantisation.reset();
  run.spec.model.streams_weights = false;
  run.spec.model.config.hidden = 96;
  run.spec.model.config.intermediate = 128;
  run.spec.model.precision = precision;
  optimizer.weight_decay = 0.01;
  run.spec.optimizer = optimizer;
  return run;
}

constexpr TrainedPrecision kPrecisions[] = {TrainedPrecision::f32, TrainedPrecision::mixed,
                                            TrainedPrecision::pure_bf16};

TEST(PagedStates, give_the_bits_of_resident_ones_within_what_they_may_keep) {
  const auto backend = open_backend("cpu", 2);
  for (const TrainedPrecision precision : kPrecisions)
    for (const OptimizerRule rule : {OptimizerRule::adamw, OptimizerRule::sgd})
      for (const std::optional<StateCoding> coding :
           {std::optional<StateCoding>(), std::optional(StateCoding::blocks_8bit)}) {
        SCOPED_TRACE(testing::Message() << static_cast<int>(precision) << " "
                                        << static_cast<int>(rule) << " " << coding.has_value());
        SmallRun run = make_run(3, precision, {.rule = rule, .coding = coding});
        const RunResult resident = run_small(run, *backend);
        run.spec.optimizer.place = StatePlace::paged;
        run.spec.optimizer.page_resident = kSmallPageResident;
        const RunResult paged = run_small(run, *backend);
        expect_same_bits(resident, paged);
        EXPECT_LE(peak_of(paged.snapshot, Place::device), kSmallPageResident);
        EXPECT_EQ(peak_of(paged.snapshot, Place::page) > 0,
                  peak_of(resident.snapshot, Place::device) > kSmallPageResident);
        EXPECT_TRUE(coding || rule == OptimizerRule::sgd ||
                    peak_of(paged.snapshot, Place::page) > 0)
            << "nothing was paged";
      }
}

TEST(PagedStates, that_fit_move_nothing) {
  const auto backend = open_backend("cpu", 2);
  SmallRun run = make_run(3, TrainedPrecision::f32, {});
  run.spec.optimizer.place = StatePlace::paged;
  Rehearsal rehearsal;
  const RunResult result = run_small(run, *backend, &rehearsal);
  EXPECT_EQ(peak_of(result.snapshot, Place::page), 0);
  EXPECT_EQ(rehearsal.states.page_bytes, 0);
}

TEST(PagedStates, leave_the_other_accounts_as_they_are) {
  const auto backend = open_backend("cpu", 1);
  SmallRun run = make_run(5, TrainedPrecision::f32, {});
  const auto resident = run_small(run, *backend).snapshot.peaks_of_accounts();
  run.spec.optimizer.place = StatePlace::paged;
  run.spec.optimizer.page_resident = kSmallPageResident;
  const auto paged = run_small(run, *backend).snapshot.peaks_of_accounts();
  for (const Account account : kAccounts) {
    if (account == Account::optimizer) continue;
    EXPECT_EQ(paged[static_cast<size_t>(account)], resident[static_cast<size_t>(account)]);
  }
}

TEST(EightBitStates, take_at_most_2_04_bytes_a_parameter) {
  TrainSpec spec;
  spec.model.config = *find_known_model("smollm2-135m");
  spec.optimizer.coding = StateCoding::blocks_8bit;
  spec.checkpointing = uniform_policy(Keep::input, spec.model.config.num_layers);
  spec.capacity = {.tokens = 64, .longest_segment = 64, .segments = 1, .labelled_rows = 63};
  const Rehearsal rehearsal = rehearse(spec, 1, cpu_profile(2));
  EXPECT_GT(rehearsal.states.elements_8bit, 100000000);
  EXPECT_LE(rehearsal.states.bytes_per_8bit_parameter(), 2.04);
  // The account agrees: what is not in 8 bits takes 8 bytes.
  EXPECT_EQ(peak_of(rehearsal.snapshot, Place::device),
            rehearsal.states.bytes_8bit + 8 * rehearsal.states.elements_wider);
}

TEST(EightBitStates, follow_32_bit_ones_closely_and_not_to_the_bit) {
  const auto backend = open_backend("cpu", 2);
  SmallRun run = make_run(7, TrainedPrecision::f32, {});
  const RunResult wide = run_small(run, *backend);
  run.spec.optimizer.coding = StateCoding::blocks_8bit;
  const RunResult coded = run_small(run, *backend);
  EXPECT_NE(wide.trained, coded.trained);
  // Step 1 starts from zero states, which both hold exactly.
  EXPECT_EQ(wide.outcomes[0].loss, coded.outcomes[0].loss);
  EXPECT_NEAR(wide.outcomes[1].loss, coded.outcomes[1].loss,
              wide.outcomes[1].loss * tolerance(DType::bf16, 1));
}

}  // namespace
}  // namespace cairn::test
