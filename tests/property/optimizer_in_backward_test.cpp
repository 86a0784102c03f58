// The optimizer in backward changes when gradients live and nothing else: the same bits as a run
// that holds them, whatever the method, precision, states and checkpointing.
#include <gtest/gtest.h>

#include <cmath>

#include "support/small_run.h"
#include "support/tolerance.h"

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

// One plain step moves each unit by rate * max_grad_norm, whatever the others' gradients are: two
// runs with one and two times the norm differ by just that.
TEST(OptimizerInBackward, clips_each_unit_by_its_own_norm) {
  const auto backend = open_backend("cpu", 2);
  SmallRun run = make_run(3);
  run.spec.model.lora.reset();
  run.spec.model.quantisation.reset();
  run.spec.model.streams_weights = false;
  run.spec.model.config.tied_embeddings = false;
  run.spec.model.activation = run.spec.model.frozen_storage = DType::f32;
  run.spec.model.precision = TrainedPrecision::f32;
  run.spec.model.unit_gradients = run.spec.clips_by_unit = true;
  run.spec.optimizer = OptimizerSettings();
  run.spec.optimizer.rule = OptimizerRule::sgd;
  run.steps.resize(1);
  constexpr double kRate = 1e-2;         // of run_small
  constexpr double kNorm = 1e-3;         // below every unit's own
  constexpr double kClipEpsilon = 1e-6;  // beside the norm, as in PyTorch
  const auto train = [&](double norm) {
    run.spec.max_grad_norm = norm;
    return run_small(run, *backend).trained;
  };
  const auto once = train(kNorm), twice = train(2 * kNorm);
  // Embedding, blocks of nine tensors, final norm and head.
  const auto units = static_cast<size_t>(run.spec.model.config.num_layers) + 2;
  std::vector<double> moved(units, 0), size(units, 0);
  for (size_t p = 0; p < once.size(); ++p)
    for (size_t i = 0; i < once[p].size(); ++i) {
      const size_t unit = p == 0 ? 0 : (p - 1) / 9 + 1;
      moved[unit] += std::pow(double{once[p][i]} - twice[p][i], 2);
      size[unit] += std::pow(double{once[p][i]}, 2);
    }
  // Each run rounds every weight once.
  for (size_t unit = 0; unit < units; ++unit)
    EXPECT_NEAR(std::sqrt(moved[unit]), kRate * kNorm,
                2 * unit_roundoff(DType::f32) * std::sqrt(size[unit]) + kRate * kClipEpsilon)
        << "unit " << unit;
}

}  // namespace
}  // namespace cairn::test
