// Saving memory never changes meaning: recomputation, seeds, and how a step is cut.
#include <gtest/gtest.h>

#include "base/bytes.h"
#include "support/expect_run.h"
#include "support/gradient_run.h"
#include "support/small_run.h"
#include "support/tolerance.h"

namespace cairn::test {
namespace {

std::string trace_of(uint64_t seed) { return "make_small_run(" + std::to_string(seed) + ")"; }

TEST(SameMeaning, checkpointed_and_plain_runs_are_bit_equal_and_differ_in_activations_only) {
  const auto backend = open_backend("cpu", 2);
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(trace_of(seed));
    SmallRun run = make_small_run(seed);
    set_keep(run, Keep::everything);
    const RunResult plain = run_small(run, *backend);
    set_keep(run, Keep::input);
    const RunResult checkpointed = run_small(run, *backend);
    expect_same_bits(plain, checkpointed);
    for (Account account : kAccounts) {
      const auto index = static_cast<size_t>(account);
      const int64_t before = plain.snapshot.peaks_of_accounts()[index];
      const int64_t after = checkpointed.snapshot.peaks_of_accounts()[index];
      if (account == Account::activations)
        EXPECT_LE(after, before);
      else
        EXPECT_EQ(after, before) << name_of(account);
    }
  }
}

TEST(SameMeaning, two_runs_of_one_seed_are_bit_equal) {
  const auto backend = open_backend("cpu", 2);
  for (uint64_t seed = 40; seed < 60; ++seed) {
    SCOPED_TRACE(trace_of(seed));
    const SmallRun run = make_small_run(seed);
    expect_same_bits(run_small(run, *backend), run_small(run, *backend));
  }
}

TEST(SameMeaning, one_thread_and_two_are_bit_equal) {
  const auto one = open_backend("cpu", 1), two = open_backend("cpu", 2);
  for (uint64_t seed = 60; seed < 80; ++seed) {
    SCOPED_TRACE(trace_of(seed));
    const SmallRun run = make_small_run(seed);
    expect_same_bits(run_small(run, *one), run_small(run, *two));
  }
}

// What rounding explains of a loss over all its tokens and words.
double relative_tolerance(const GradientRun& run) {
  return 10 * tolerance(DType::f32, run.micro_batches[0].tokens() * run.spec.config.vocab);
}

void expect_agreement(const GradientResult& a, const GradientResult& b, double relative) {
  EXPECT_NEAR(a.loss, b.loss, relative * a.loss);
  for (const NamedGradient& gradient : a.gradients) {
    const NamedGradient& other = b.of(gradient.name);
    double squares = 0, difference = 0;
    for (size_t i = 0; i < gradient.values.size(); ++i) {
      squares += static_cast<double>(gradient.values[i]) * gradient.values[i];
      difference += std::pow(static_cast<double>(gradient.values[i]) - other.values[i], 2);
    }
    EXPECT_GT(squares, 0) << gradient.name << " has nothing to compare";
    EXPECT_LE(std::sqrt(difference), relative * std::sqrt(squares)) << gradient.name;
  }
}

GradientRun make_gradient_run(uint64_t seed) {
  GradientRun run;
  run.spec.config = make_small_config(seed);
  run.spec.activation = run.spec.frozen_storage = DType::f32;
  if (seed % 2 == 0) run.spec.lora = LoraSpec();
  run.seed = seed;
  run.set_value = fill_second_halves;
  return run;
}

TEST(SameMeaning, tiled_and_materialised_attention_agree) {
  const auto backend = open_backend("cpu", 2);
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(trace_of(seed));
    GradientRun tiled = make_gradient_run(seed);
    tiled.keep = seed % 3 == 0 ? Keep::everything : Keep::input;
    tiled.micro_batches = make_batches(seed, tiled.spec.config.vocab, 1, 4, 150);
    GradientRun materialised = tiled;
    materialised.spec.attention = AttentionKind::materialised;
    expect_agreement(run_gradients(tiled, *backend), run_gradients(materialised, *backend),
                     relative_tolerance(tiled));
  }
}

// A gradient in bf16 is rounded once a chunk, by half a unit in the last place of what it has come
// to.
TEST(SameMeaning, chunks_of_the_loss_agree_up_to_a_rounding_each) {
  const auto backend = open_backend("cpu", 2);
  for (uint64_t seed = 1; seed < 20; seed += 2) {
    SCOPED_TRACE(trace_of(seed));
    GradientRun whole = make_gradient_run(seed);
    whole.spec.precision = TrainedPrecision::mixed;
    whole.micro_batches = make_batches(seed, whole.spec.config.vocab, 1, 4, 150);
    GradientRun chunked = whole;
    chunked.spec.loss_chunk = 64;
    const auto chunks = static_cast<double>(ceil_div(whole.micro_batches[0].labelled(), 64));
    const GradientResult a = run_gradients(whole, *backend), b = run_gradients(chunked, *backend);
    EXPECT_EQ(a.loss, b.loss);
    for (const NamedGradient& gradient : a.gradients)
      EXPECT_LE(relative_difference(gradient, b.of(gradient.name)),
                (chunks + 1) * unit_roundoff(DType::bf16))
          << gradient.name;
  }
}

// One micro-batch of four samples, and four of one: only the order of sums differs.
TEST(SameMeaning, accumulation_1x4_and_4x1_agree) {
  const auto backend = open_backend("cpu", 2);
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(trace_of(seed));
    GradientRun whole = make_gradient_run(seed);
    GradientRun pieces = whole;
    pieces.micro_batches = make_batches(seed, whole.spec.config.vocab, 4, 1, 30);
    whole.micro_batches = {join(pieces.micro_batches)};

    expect_agreement(run_gradients(whole, *backend), run_gradients(pieces, *backend),
                     relative_tolerance(whole));
  }
}

}  // namespace
}  // namespace cairn::test
