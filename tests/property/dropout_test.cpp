// Dropout is a function of (seed, step, sample, position, module): recomputation, threads, tiles
// and packing draw the same mask, evaluation draws none, and what is dropped passes no gradient
// back.
#include <gtest/gtest.h>

#include "base/random.h"
#include "data/sampler.h"
#include "support/expect_run.h"
#include "support/gradient_run.h"
#include "support/small_run.h"
#include "support/tolerance.h"

namespace cairn::test {
namespace {

// A run of adapters in which every pair drops a good part of its input.
SmallRun make_dropping_run(uint64_t seed) {
  SmallRun run = make_small_run(seed);
  LoraSpec lora;
  lora.dropout = 0.3;
  run.spec.model.lora = lora;
  return run;
}

GradientRun make_gradient_run(uint64_t seed, double rate) {
  GradientRun run;
  run.spec.config = make_small_config(seed);
  run.spec.activation = run.spec.frozen_storage = DType::f32;
  run.spec.lora = LoraSpec();
  run.spec.lora->dropout = rate;
  run.keep = seed % 2 == 0 ? Keep::input : Keep::everything;
  run.seed = seed;
  // B of a fresh pair is zero, and with it everything that could be dropped.
  run.set_value = [](Parameter& parameter) {
    if (!parameter.name.ends_with("lora_B.weight")) return;
    float* values = parameter.value.as<float>();
    for (int64_t i = 0; i < parameter.elements(); ++i)
      values[i] = 0.05f * Random(3).normal(static_cast<uint64_t>(i));
  };
  return run;
}

TEST(Dropout, every_checkpoint_policy_draws_the_same_mask) {
  const auto backend = open_backend("cpu", 2);
  for (uint64_t seed = 0; seed < 3; ++seed) {
    SmallRun run = make_dropping_run(seed);
    run.spec.model.config.num_layers = 5;
    set_keep(run, Keep::everything);
    const RunResult plain = run_small(run, *backend);
    for (const char* words : {"block", "every:2", "sqrt", "nested", "selective", "offload",
                              "2*offload+2*block+1*none"}) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << words);
      run.spec.checkpointing = make_policy(*parse_policy(words), 5);
      expect_same_bits(plain, run_small(run, *backend));
    }
  }
}

TEST(Dropout, threads_draw_the_same_mask_and_tiles_too) {
  const auto one = open_backend("cpu", 1), two = open_backend("cpu", 2);
  for (uint64_t seed = 0; seed < 6; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    SmallRun run = make_dropping_run(seed);
    const RunResult whole = run_small(run, *two);
    expect_same_bits(whole, run_small(run, *one));
    run.spec.model.mlp_tile = 16;
    EXPECT_EQ(run_small(run, *two).outcomes[0].loss, whole.outcomes[0].loss);
  }
}

TEST(Dropout, packed_rows_and_single_samples_give_one_loss_and_gradient) {
  const auto backend = open_backend("cpu", 2);
  for (uint64_t seed = 0; seed < 8; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    GradientRun packed = make_gradient_run(seed, 0.3);
    const auto examples = make_examples(seed, packed.spec.config.vocab, 9, 50);
    const std::vector<int64_t> lengths = lengths_of(examples);
    GradientRun single = packed;
    for (const Row& row : pack_rows(lengths, 64))
      packed.micro_batches.push_back(make_batch(examples, row.examples));
    for (const Row& row : make_single_rows(lengths))
      single.micro_batches.push_back(make_batch(examples, row.examples));

    const GradientResult a = run_gradients(packed, *backend), b = run_gradients(single, *backend);
    int64_t tokens = 0;
    for (int64_t length : lengths) tokens += length;
    const double relative = 10 * tolerance(DType::f32, tokens * packed.spec.config.vocab);
    EXPECT_NEAR(a.loss, b.loss, relative * b.loss);
    for (const NamedGradient& gradient : b.gradients)
      EXPECT_LE(relative_difference(gradient, a.of(gradient.name)), relative) << gradient.name;
  }
}

// Moves every trained value along the gradient by `step` and returns the loss.
double loss_along(GradientRun run, const GradientResult& gradients, double step, Backend& backend) {
  const auto start = run.set_value;
  run.set_value = [&, start](Parameter& parameter) {
    start(parameter);
    if (!parameter.trainable) return;
    float* values = parameter.value.as<float>();
    const std::vector<float>& slope = gradients.of(parameter.name).values;
    for (size_t i = 0; i < slope.size(); ++i) values[i] += static_cast<float>(step * slope[i]);
  };
  return run_gradients(run, backend).loss;
}

TEST(Dropout, the_gradient_is_the_slope_of_the_loss_under_the_same_mask) {
  const auto backend = open_backend("cpu", 2);
  for (uint64_t seed = 0; seed < 6; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    GradientRun run = make_gradient_run(seed, 0.3);
    run.micro_batches = make_batches(seed, run.spec.config.vocab, 1, 3, 40);
    const GradientResult result = run_gradients(run, *backend);
    double squares = 0;
    for (const NamedGradient& gradient : result.gradients)
      for (float value : gradient.values) squares += static_cast<double>(value) * value;
    // Far enough that rounding of the loss does not show, near enough that its bend does not: the
    // slopes over a whole and over half a step tell how much it bends.
    const double rounding =
        10 * tolerance(DType::f32, run.micro_batches[0].tokens() * run.spec.config.vocab);
    double step = std::sqrt(rounding) * result.loss / squares;
    const double shortest = step / 16;
    const auto slope_over = [&](double half) {
      return (loss_along(run, result, half, *backend) - loss_along(run, result, -half, *backend)) /
             (2 * half);
    };
    double slope = slope_over(step / 2), longer = slope_over(step);
    // The losses of some families bend more, and want a shorter step.
    while (std::abs(longer - slope) > squares / 10 && step > shortest) {
      step /= 2;
      longer = slope;
      slope = slope_over(step / 2);
    }
    EXPECT_NEAR(slope, squares, std::abs(longer - slope) + 2 * rounding * result.loss / step);
    EXPECT_LT(std::abs(longer - slope), squares / 2) << "the step is too long to tell anything";
  }
}

TEST(Dropout, a_step_draws_its_own_mask_and_evaluation_none) {
  const auto backend = open_backend("cpu", 2);
  GradientRun run = make_gradient_run(4, 0.3);
  run.micro_batches = make_batches(4, run.spec.config.vocab, 1, 3, 40);
  const double loss = run_gradients(run, *backend).loss;
  run.dropout_seed = 5;
  EXPECT_NE(run_gradients(run, *backend).loss, loss);

  SmallRun dropping = make_dropping_run(1);
  dropping.eval = make_batches(9, dropping.spec.model.config.vocab, 2, 2, 40);
  dropping.steps.clear();
  set_capacity(dropping);
  dropping.spec.capacity = *dropping.spec.eval_capacity;
  SmallRun plain = dropping;
  plain.spec.model.lora->dropout = 0;
  EXPECT_EQ(run_small(dropping, *backend).eval_losses, run_small(plain, *backend).eval_losses);
}

}  // namespace
}  // namespace cairn::test
