// What ranks share changes where things are, and nothing else: every stage trains to the bits of
// stage 0, and any number of ranks to what one process trains to, within what the order of a sum
// explains. Each rank's ledger is the rehearsed one.
#include <gtest/gtest.h>

#include <cmath>

#include "support/small_run.h"
#include "support/tolerance.h"

namespace cairn::test {
namespace {

// What several ranks may do, and no weight so small that it stays whole.
SmallRun make_run(uint64_t seed) {
  SmallRun run = make_small_run(seed);
  run.spec.model.unit_gradients = run.spec.clips_by_unit = false;
  run.spec.sharding.persistence_threshold = seed % 4 == 0 ? 2000 : 0;
  run.spec.sharding.overlap = seed % 3 != 0;
  run.spec.sharding.reduce_bucket = run.spec.sharding.gather_bucket =
      seed % 2 == 0 ? 5000 : 1 << 30;
  return run;
}

std::vector<RunResult> train(SmallRun run, int stage, int ranks) {
  run.spec.sharding.stage = stage;
  return run_on_ranks(deal(run, ranks));
}

void expect_same_training(const std::vector<RunResult>& a, const std::vector<RunResult>& b) {
  for (size_t p = 0; p < a[0].trained.size(); ++p)
    EXPECT_EQ(whole_of(a, p), whole_of(b, p)) << "trained parameter " << p;
  for (size_t rank = 0; rank < b.size(); ++rank) {
    EXPECT_EQ(a[0].eval_losses.size(), b[rank].eval_losses.size());
    for (size_t step = 0; step < a[0].outcomes.size(); ++step) {
      EXPECT_EQ(a[0].outcomes[step].loss, b[rank].outcomes[step].loss);
      EXPECT_NEAR(a[0].outcomes[step].gradient_norm, b[rank].outcomes[step].gradient_norm,
                  tolerance(DType::f32, 1024) * a[0].outcomes[step].gradient_norm);
    }
  }
}

class ShardingStages : public ::testing::TestWithParam<int> {};

// With one micro-batch a step every stage adds the same terms in the same order.
TEST_P(ShardingStages, train_to_the_bits_of_stage_0) {
  const int ranks = 2 + GetParam() % 3;
  for (uint64_t i = 0; i < 6; ++i) {
    const uint64_t seed = static_cast<uint64_t>(GetParam()) * 6 + i;
    SCOPED_TRACE("make_run(" + std::to_string(seed) + ") on " + std::to_string(ranks) + " ranks");
    SmallRun run = make_run(seed);
    for (auto& step : run.steps) step.resize(1);
    run.accumulation = 1;
    // The norm is a sum over shares: clipping by it may move a last bit.
    run.spec.max_grad_norm = 0;
    const std::vector<RunResult> whole = train(run, 0, ranks);
    for (int stage = 1; stage <= 3; ++stage) {
      SCOPED_TRACE("stage " + std::to_string(stage));
      expect_same_training(whole, train(run, stage, ranks));
    }
  }
}

// Stages 0 and 1 add up ranks at the end of the step, stages 2 and 3 after each micro-batch.
TEST_P(ShardingStages, of_one_order_of_sums_agree_in_bits_under_accumulation) {
  const int ranks = 2 + GetParam() % 3;
  const auto seed = static_cast<uint64_t>(GetParam());
  SmallRun run = make_run(seed);
  run.accumulation = 4;
  for (size_t step = 0; step < run.steps.size(); ++step)
    run.steps[step] = make_batches(seed * 10 + step, run.spec.model.config.vocab, 4, 3, 20);
  set_capacity(run);
  run.spec.max_grad_norm = 0;
  expect_same_training(train(run, 0, ranks), train(run, 1, ranks));
  expect_same_training(train(run, 2, ranks), train(run, 3, ranks));
}

TEST_P(ShardingStages, take_what_the_rehearsal_of_each_rank_says) {
  for (const int ranks : {2, 4})
    for (int stage = 0; stage <= 3; ++stage) {
      const auto seed = static_cast<uint64_t>(GetParam() * 4 + stage);
      SCOPED_TRACE("make_run(" + std::to_string(seed) + ") on " + std::to_string(ranks) +
                   " ranks, stage " + std::to_string(stage));
      SmallRun run = make_run(seed);
      run.spec.sharding.stage = stage;
      std::vector<Rehearsal> rehearsals;
      const std::vector<RunResult> results = run_on_ranks(deal(run, ranks), &rehearsals);
      for (size_t rank = 0; rank < results.size(); ++rank) {
        const Snapshot &measured = results[rank].snapshot, &planned = rehearsals[rank].snapshot;
        EXPECT_EQ(measured.peak_bytes(), planned.peak_bytes());
        EXPECT_EQ(measured.accounts_at_peak(), planned.accounts_at_peak());
        EXPECT_EQ(measured.peaks_of_accounts(), planned.peaks_of_accounts());
        EXPECT_EQ(planned.peaks_of_accounts(), rehearsals[0].snapshot.peaks_of_accounts())
            << "shares are equal";
        EXPECT_EQ(rehearsals[rank].schedule_hash, rehearsals[0].schedule_hash);
        EXPECT_EQ(results[rank].left_after, 0);
        EXPECT_LE(results[rank].most_gathered, run.spec.sharding.overlap ? 2 : 1);
      }
    }
}

INSTANTIATE_TEST_SUITE_P(seeds, ShardingStages, ::testing::Range(0, 6));

double norm_of_difference(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += std::pow(double{a[i]} - b[i], 2);
  return std::sqrt(sum);
}

enum class Method { lora, qlora, full };

Method method_of(const SmallRun& run) {
  if (!run.spec.model.lora) return Method::full;
  return run.spec.model.quantisation ? Method::qlora : Method::lora;
}

// AdamW whose step is smooth in the gradient, so that the order of sums moves it as little.
SmallRun make_smooth_run(Method method, int64_t accumulation) {
  uint64_t seed = 0;
  while (method_of(make_run(seed)) != method) ++seed;
  SmallRun run = make_run(seed);
  run.spec.model.activation = run.spec.model.frozen_storage = DType::f32;
  run.spec.model.precision = TrainedPrecision::f32;
  run.spec.optimizer.rule = OptimizerRule::adamw;
  run.spec.optimizer.coding = StateCoding::f32;
  run.spec.optimizer.epsilon = 1;
  run.spec.sharding.persistence_threshold = 0;
  run.accumulation = accumulation;
  for (size_t step = 0; step < run.steps.size(); ++step)
    run.steps[step] =
        make_batches(seed * 10 + step, run.spec.model.config.vocab, accumulation, 5, 30);
  set_capacity(run);
  return run;
}

// `shared` is what the ranks of one run came to.
void expect_same_within_order(const SmallRun& run, const RunResult& before, const RunResult& alone,
                              const std::vector<RunResult>& shared) {
  const double relative =
      100 * tolerance(DType::f32, run.spec.capacity.tokens * run.spec.model.config.vocab);
  for (size_t step = 0; step < alone.outcomes.size(); ++step) {
    EXPECT_NEAR(shared[0].outcomes[step].loss, alone.outcomes[step].loss,
                relative * alone.outcomes[step].loss);
    EXPECT_EQ(shared[0].outcomes[step].labelled_tokens, alone.outcomes[step].labelled_tokens);
  }
  for (size_t e = 0; e < alone.eval_losses.size(); ++e) {
    double sum = 0;
    for (const RunResult& result : shared) sum += result.eval_losses[e];
    EXPECT_NEAR(sum, alone.eval_losses[e], relative * alone.eval_losses[e]);
  }
  for (size_t p = 0; p < alone.trained.size(); ++p) {
    const double moved = norm_of_difference(alone.trained[p], before.trained[p]);
    double size = 0;
    for (const float value : alone.trained[p]) size += double{value} * value;
    EXPECT_LE(norm_of_difference(whole_of(shared, p), alone.trained[p]),
              relative * moved + 4 * unit_roundoff(DType::f32) * std::sqrt(size))
        << "trained parameter " << p;
  }
}

class ShardedTraining : public ::testing::TestWithParam<Method> {};

TEST_P(ShardedTraining, is_what_one_process_trains_at_every_stage_on_any_number_of_ranks) {
  const auto backend = open_backend("cpu", 1);
  for (const int64_t accumulation : {1, 4}) {
    const SmallRun run = make_smooth_run(GetParam(), accumulation);
    SmallRun untrained = run;
    untrained.steps.clear();
    const RunResult before = run_small(untrained, *backend);
    const RunResult alone = run_small(run, *backend);
    for (int ranks = 1; ranks <= 4; ++ranks)
      for (int stage = 0; stage <= 3; ++stage) {
        SCOPED_TRACE(std::to_string(ranks) + " ranks, stage " + std::to_string(stage) + ", " +
                     std::to_string(accumulation) + " micro-batches");
        expect_same_within_order(run, before, alone, train(run, stage, ranks));
      }
  }
}

std::string name_of(const ::testing::TestParamInfo<Method>& info) {
  constexpr const char* names[] = {"lora", "qlora", "full"};
  return names[static_cast<size_t>(info.param)];
}
INSTANTIATE_TEST_SUITE_P(methods, ShardedTraining,
                         ::testing::Values(Method::lora, Method::qlora, Method::full),
                         [](const auto& of) { return name_of(of); });

}  // namespace
}  // namespace cairn::test
