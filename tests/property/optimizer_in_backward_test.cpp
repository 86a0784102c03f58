// The optimizer in backward changes when gradients live and nothing else: the same bits as a run
// that holds them, whatever the method, precision, states and checkpointing.
#include <gtest/gtest.h>

#include "support/small_run.h"

namespace cairn::test {
namespace {

SmallRun make_run(uint64_t seed) {
  SmallRun run = make_small_run(seed);
  for (auto& step : run.steps) step = {join(step)};
  run.accumulation = 1;
  set_capacity(run);
  run.spec.clips_by_unit = false;
  return run;
}

class OptimizerInBackward : public ::testing::TestWithParam<int> {};

TEST_P(OptimizerInBackward, trains_to_the_same_bits) {
  const auto backend = open_backend("cpu", 2);
  for (uint64_t i = 0; i < 10; ++i) {
    const uint64_t seed = static_cast<uint64_t>(GetParam()) * 10 + i;
    SCOPED_TRACE("make_small_run(" + std::to_string(seed) + ")");
    SmallRun run = make_run(seed);
    run.spec.model.unit_gradients = false;
    const RunResult held = run_small(run, *backend);
    run.spec.model.unit_gradients = true;
    const RunResult applied = run_small(run, *backend);
    EXPECT_EQ(held.trained, applied.trained);
    for (size_t step = 0; step < held.outcomes.size(); ++step) {
      EXPECT_EQ(held.outcomes[step].loss, applied.outcomes[step].loss);
      EXPECT_DOUBLE_EQ(held.outcomes[step].gradient_norm, applied.outcomes[step].gradient_norm);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(seeds, OptimizerInBackward, ::testing::Range(0, 4));

// Of a full fine-tune: one block, or embedding and head.
TEST(OptimizerInBackward, gradients_are_those_of_the_largest_unit_at_most) {
  const auto backend = open_backend("cpu", 2);
  for (const bool tied : {true, false}) {
    SmallRun run = make_run(3);
    run.spec.model.lora.reset();
    run.spec.model.quantisation.reset();
    run.spec.model.streams_weights = false;
    run.spec.model.config.tied_embeddings = tied;
    run.spec.model.precision = TrainedPrecision::f32;
    run.spec.model.unit_gradients = true;
    const RunResult result = run_small(run, *backend);
    const ModelConfig& config = run.spec.model.config;
    const int64_t table = config.vocab * config.hidden;
    const int64_t block =
        (config.num_parameters() - config.hidden - (tied ? 1 : 2) * table) / config.num_layers;
    const auto gradients = static_cast<size_t>(Account::gradients);
    EXPECT_LE(result.snapshot.peaks_of_accounts()[gradients],
              4 * std::max(block, table + config.hidden));
  }
}

}  // namespace
}  // namespace cairn::test
