// Weights that stream from the page file change where they wait and nothing else: the same bits as
// a run that holds them, whatever the storage, the checkpointing and the optimizer.
#include <gtest/gtest.h>

#include "support/small_run.h"

namespace cairn::test {
namespace {

class StreamedWeightsRun : public ::testing::TestWithParam<int> {};

TEST_P(StreamedWeightsRun, trains_and_evaluates_to_the_same_bits) {
  const auto backend = open_backend("cpu", 2);
  for (uint64_t i = 0; i < 10; ++i) {
    const uint64_t seed = static_cast<uint64_t>(GetParam()) * 10 + i;
    SCOPED_TRACE("make_small_run(" + std::to_string(seed) + ")");
    SmallRun run = make_small_run(seed);
    if (!run.spec.model.lora) run.spec.model.lora = LoraSpec();
    run.spec.model.streams_weights = false;
    const RunResult held = run_small(run, *backend);
    run.spec.model.streams_weights = true;
    const RunResult streamed = run_small(run, *backend);
    EXPECT_EQ(held.trained, streamed.trained);
    EXPECT_EQ(held.eval_losses, streamed.eval_losses);
    for (size_t step = 0; step < held.outcomes.size(); ++step)
      EXPECT_EQ(held.outcomes[step].loss, streamed.outcomes[step].loss);
  }
}

INSTANTIATE_TEST_SUITE_P(seeds, StreamedWeightsRun, ::testing::Range(0, 4));

// However deep the model, two blocks are in memory; only the pairs grow.
TEST(StreamedWeightsRun, memory_does_not_grow_with_the_number_of_blocks) {
  const auto backend = open_backend("cpu", 2);
  SmallRun run = make_small_run(3);
  run.spec.model.lora = LoraSpec();
  run.spec.model.lora->targets = {run.spec.model.config.product_names().front()};
  run.spec.model.quantisation.reset();
  run.spec.model.precision = TrainedPrecision::f32;
  run.spec.model.streams_weights = true;
  const auto weights = [&](int64_t layers) {
    run.spec.model.config.num_layers = layers;
    set_keep(run, Keep::input);
    return run_small(run, *backend)
        .snapshot.peaks_of_accounts()[static_cast<size_t>(Account::weights)];
  };
  const ModelConfig& config = run.spec.model.config;
  const int64_t out = config.query_width() + (config.fused_projections ? 2 * config.kv_width() : 0);
  const int64_t pair = run.spec.model.lora->rank * (config.hidden + out);
  EXPECT_EQ(weights(8) - weights(4), 4 * pair * int64_t{sizeof(float)});
}

}  // namespace
}  // namespace cairn::test
