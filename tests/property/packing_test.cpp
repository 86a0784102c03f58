// Packing only changes which samples share a micro-batch: the same step, and no sample ever sees
// another.
#include <gtest/gtest.h>

#include "base/random.h"
#include "data/sampler.h"
#include "support/gradient_run.h"
#include "support/small_run.h"
#include "support/tolerance.h"

namespace cairn::test {
namespace {

std::string trace_of(uint64_t seed) { return "seed " + std::to_string(seed); }

GradientRun make_run(uint64_t seed, DType storage) {
  GradientRun run;
  run.spec.config = make_small_config(seed);
  run.spec.activation = run.spec.frozen_storage = storage;
  if (seed % 2 == 0) run.spec.lora = LoraSpec();
  run.keep = seed % 3 == 0 ? Keep::input : Keep::everything;
  run.seed = seed;
  run.set_value = fill_second_halves;
  return run;
}

std::vector<Batch> batches_of(const std::vector<Example>& examples, const std::vector<Row>& rows) {
  std::vector<Batch> batches;
  for (const Row& row : rows) batches.push_back(make_batch(examples, row.examples));
  return batches;
}

// The same samples in one optimizer step, packed into rows and one by one.
TEST(PackingKeepsMeaning, packed_rows_and_single_samples_give_one_loss_and_gradient) {
  const auto backend = open_backend("cpu", 2);
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(trace_of(seed));
    GradientRun packed = make_run(seed, DType::f32);
    GradientRun single = packed;
    const auto examples = make_examples(seed, packed.spec.config.vocab, 9, 50);
    const std::vector<int64_t> lengths = lengths_of(examples);
    const std::vector<Row> rows = pack_rows(lengths, 64);
    ASSERT_LT(rows.size(), examples.size());
    packed.micro_batches = batches_of(examples, rows);
    single.micro_batches = batches_of(examples, make_single_rows(lengths));

    const GradientResult a = run_gradients(packed, *backend), b = run_gradients(single, *backend);
    int64_t tokens = 0;
    for (int64_t length : lengths) tokens += length;
    const double relative = 10 * tolerance(DType::f32, tokens * packed.spec.config.vocab);
    EXPECT_NEAR(a.loss, b.loss, relative * b.loss);
    for (const NamedGradient& gradient : b.gradients)
      EXPECT_LE(relative_difference(gradient, a.of(gradient.name)), relative) << gradient.name;
  }
}

// Others of the same lengths, which train nothing: only what they hold differs.
std::vector<Example> with_other_neighbours(std::vector<Example> examples, size_t kept,
                                           int64_t vocab) {
  const Random random(99);
  uint64_t draw = 0;
  for (size_t i = 0; i < examples.size(); ++i)
    if (i != kept)
      for (int32_t& id : examples[i].ids)
        id = static_cast<int32_t>(random.below(draw++, static_cast<uint64_t>(vocab)));
  return examples;
}

std::vector<Example> with_labels_of_one(std::vector<Example> examples, size_t kept) {
  for (size_t i = 0; i < examples.size(); ++i)
    if (i != kept) examples[i].labels.assign(examples[i].labels.size(), kIgnored);
  return examples;
}

GradientResult run_row(GradientRun run, const std::vector<Example>& examples, Backend& backend) {
  MicroBatch all(examples.size());
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int64_t>(i);
  run.micro_batches = {make_batch(examples, all)};
  return run_gradients(run, backend);
}

TEST(PackingKeepsMeaning, a_neighbours_tokens_never_change_a_bit_of_a_sample) {
  const auto backend = open_backend("cpu", 2);
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(trace_of(seed));
    const GradientRun run = make_run(seed, seed % 4 < 2 ? DType::f32 : DType::bf16);
    const int64_t vocab = run.spec.config.vocab;
    const std::vector<Example> examples = make_examples(seed, vocab, 3, 40);
    for (size_t kept = 0; kept < examples.size(); ++kept) {
      if (examples[kept].trained_labels() == 0) continue;
      const auto row = with_labels_of_one(examples, kept);
      const GradientResult a = run_row(run, row, *backend);
      const GradientResult b = run_row(run, with_other_neighbours(row, kept, vocab), *backend);
      const GradientResult alone = run_row(run, {row[kept]}, *backend);
      EXPECT_EQ(a.loss, b.loss) << "sample " << kept;
      EXPECT_EQ(a.loss, alone.loss) << "sample " << kept;
      for (const NamedGradient& gradient : a.gradients)
        EXPECT_EQ(gradient.values, b.of(gradient.name).values)
            << gradient.name << ", sample " << kept;
    }
  }
}

}  // namespace
}  // namespace cairn::test
