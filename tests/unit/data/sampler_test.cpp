// The sampler: every example once an epoch, the trainer's counting, and a worst batch that no batch
// of the run exceeds.
#include "data/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"
#include "base/random.h"

namespace cairn {
namespace {

std::vector<Example> examples_of_random_length(int64_t count, uint64_t seed) {
  const Random random(seed);
  std::vector<Example> examples;
  for (int64_t i = 0; i < count; ++i) {
    const auto tokens = static_cast<size_t>(2 + random.below(static_cast<uint64_t>(2 * i), 30));
    Example& example = examples.emplace_back();
    example.ids.assign(tokens, 7);
    example.labels.assign(tokens, 7);
    const auto masked = random.below(static_cast<uint64_t>(2 * i + 1), tokens);
    std::fill_n(example.labels.begin(), masked, kIgnored);
  }
  return examples;
}

std::vector<Row> single_rows(int64_t count) {
  return make_single_rows(std::vector<int64_t>(static_cast<size_t>(count), 1));
}

std::vector<int64_t> visited(const Sampler& sampler, int64_t first, int64_t last) {
  std::vector<int64_t> indices;
  for (int64_t step = first; step < last; ++step)
    for (const MicroBatch& micro_batch : sampler.step(step))
      indices.insert(indices.end(), micro_batch.begin(), micro_batch.end());
  return indices;
}

TEST(Sampler, each_epoch_visits_every_example_once_in_its_own_order) {
  const Sampler sampler(single_rows(11), {.batch_size = 2, .accumulation = 2, .epochs = 2});
  ASSERT_EQ(sampler.steps(), 6);
  std::vector<int64_t> first = visited(sampler, 0, 3), second = visited(sampler, 3, 6);
  EXPECT_NE(first, second);
  std::sort(first.begin(), first.end());
  std::sort(second.begin(), second.end());
  EXPECT_EQ(first, second);
  EXPECT_EQ(first.size(), 11u);
  EXPECT_EQ(std::set<int64_t>(first.begin(), first.end()).size(), 11u);
}

TEST(Sampler, a_partial_batch_and_a_partial_accumulation_still_count) {
  const Sampler sampler(single_rows(11),
                        {.batch_size = 2, .accumulation = 4, .epochs = 1, .shuffle = false});
  EXPECT_EQ(sampler.batches_per_epoch(), 6);
  EXPECT_EQ(sampler.steps_per_epoch(), 2);
  EXPECT_EQ(sampler.step(0), (SampledStep{{0, 1}, {2, 3}, {4, 5}, {6, 7}}));
  EXPECT_EQ(sampler.step(1), (SampledStep{{8, 9}, {10}}));
}

TEST(Sampler, epochs_are_counted_in_micro_batches_as_transformers_does) {
  // 12 micro-batches, 5 a step: the last step of an epoch has two.
  const Sampler sampler(single_rows(12), {.batch_size = 1, .accumulation = 5, .epochs = 2});
  const double expected[] = {0, 5.0 / 12, 10.0 / 12, 1, 1 + 5.0 / 12, 1 + 10.0 / 12, 2};
  for (int64_t step = 0; step <= 6; ++step)
    EXPECT_DOUBLE_EQ(sampler.epochs_after(step), expected[step]) << step;
}

TEST(Sampler, fractions_of_an_epoch_round_up_and_max_steps_overrides) {
  EXPECT_EQ(Sampler(single_rows(10), {.batch_size = 3, .epochs = 0.3}).steps(), 2);
  EXPECT_EQ(Sampler(single_rows(10), {.batch_size = 3, .epochs = 1.5}).steps(), 6);
  EXPECT_EQ(Sampler(single_rows(10), {.batch_size = 3, .epochs = 0.3, .max_steps = 9}).steps(), 9);
  EXPECT_EQ(Sampler(single_rows(10), {.batch_size = 3, .max_steps = 9}).epoch_of(8), 2);
}

TEST(Sampler, the_order_is_a_function_of_the_seed) {
  const auto order = [](uint64_t seed) {
    const Sampler sampler(single_rows(50), {.epochs = 1, .seed = seed});
    return visited(sampler, 0, sampler.steps());
  };
  EXPECT_EQ(order(1), order(1));
  EXPECT_NE(order(1), order(2));
}

TEST(Sampler, an_epoch_has_its_order_whenever_it_is_asked_for) {
  for (const bool group : {false, true}) {
    const SamplerOptions options = {
        .batch_size = 2, .epochs = 3, .seed = 5, .group_by_length = group};
    const Sampler forward(single_rows(11), options), backward(single_rows(11), options);
    std::vector<SampledStep> steps;
    for (int64_t step = 0; step < forward.steps(); ++step) steps.push_back(forward.step(step));
    for (int64_t step = forward.steps() - 1; step >= 0; --step)
      EXPECT_EQ(backward.step(step), steps[static_cast<size_t>(step)]) << "step " << step;
  }
}

TEST(Sampler, the_longest_run_starts_at_once_and_its_capacity_bounds_every_batch) {
  const std::vector<Example> examples = examples_of_random_length(9, 3);
  const std::vector<Row> rows = pack_rows(lengths_of(examples), 60);
  const Sampler longest(rows, {.batch_size = 2, .max_steps = kMostSteps});
  EXPECT_EQ(longest.steps(), kMostSteps);
  const Capacity bound = longest.capacity(examples);
  const Sampler walked(rows, {.batch_size = 2, .max_steps = 2000});
  // Two thousand steps meet every pair of these few rows.
  EXPECT_EQ(bound, walked.capacity(examples));
  EXPECT_THROW(Sampler(rows, {.epochs = 1e12}), UserError);
}

TEST(Sampler, nothing_to_do_is_refused) {
  EXPECT_THROW(Sampler(single_rows(0), {}), UserError);
  EXPECT_THROW(Sampler(single_rows(5), {.batch_size = 0}), UserError);
  EXPECT_THROW(Sampler(single_rows(5), {.accumulation = 0}), UserError);
  EXPECT_THROW(Sampler(single_rows(5), {.epochs = 0}), UserError);
  EXPECT_THROW(Sampler(single_rows(5), {.epochs = std::nan("")}), UserError);
  EXPECT_THROW(Sampler(single_rows(5), {.epochs = 1e300}), UserError);
}

TEST(Sampler, no_batch_exceeds_the_capacity_and_each_extent_is_reached) {
  for (const bool shuffle : {true, false})
    for (uint64_t seed = 0; seed < 8; ++seed) {
      const auto examples = examples_of_random_length(23, seed);
      const Sampler sampler(
          single_rows(23),
          {.batch_size = 3, .accumulation = 2, .epochs = 2.4, .seed = seed, .shuffle = shuffle});
      Capacity largest;
      for (int64_t step = 0; step < sampler.steps(); ++step)
        for (const MicroBatch& micro_batch : sampler.step(step))
          largest = elementwise_max(largest, capacity_of(make_batch(examples, micro_batch)));
      EXPECT_EQ(sampler.capacity(examples), largest) << "seed " << seed;
    }
}

TEST(Sampler, packed_rows_stay_whole_and_are_what_a_batch_and_an_epoch_count) {
  const std::vector<Row> rows = {{{0, 3}, 9}, {{1}, 8}, {{2, 4, 5}, 10}};
  const Sampler in_order(rows, {.batch_size = 2, .epochs = 1, .shuffle = false});
  EXPECT_EQ(in_order.steps(), 2);
  EXPECT_EQ(in_order.step(0), (SampledStep{{0, 3, 1}}));
  EXPECT_EQ(in_order.step(1), (SampledStep{{2, 4, 5}}));

  const Sampler shuffled(rows, {.epochs = 4});
  ASSERT_EQ(shuffled.steps(), 12);
  for (int64_t epoch = 0; epoch < 4; ++epoch) {
    std::set<std::vector<int64_t>> seen;
    for (int64_t step = 3 * epoch; step < 3 * epoch + 3; ++step)
      seen.insert(shuffled.step(step)[0]);
    EXPECT_EQ(seen, (std::set<std::vector<int64_t>>{{0, 3}, {1}, {2, 4, 5}}));
  }
}

TEST(Sampler, the_capacity_holds_for_packed_rows_and_for_groups) {
  for (uint64_t seed = 0; seed < 8; ++seed) {
    const auto examples = examples_of_random_length(40, seed);
    const std::vector<int64_t> lengths = lengths_of(examples);
    for (const std::vector<Row>& rows : {pack_rows(lengths, 64), make_single_rows(lengths)}) {
      const Sampler sampler(rows, {.batch_size = 2, .seed = seed, .group_by_length = true});
      Capacity largest;
      for (int64_t step = 0; step < sampler.steps(); ++step)
        for (const MicroBatch& micro_batch : sampler.step(step))
          largest = elementwise_max(largest, capacity_of(make_batch(examples, micro_batch)));
      EXPECT_EQ(sampler.capacity(examples), largest) << "seed " << seed;
    }
  }
}

TEST(Sampler, grouped_by_length_an_epoch_starts_with_its_longest_and_stays_an_epoch) {
  const auto examples = examples_of_random_length(60, 3);
  const std::vector<int64_t> lengths = lengths_of(examples);
  const Sampler sampler(make_single_rows(lengths),
                        {.batch_size = 4, .epochs = 2, .group_by_length = true});
  EXPECT_EQ(lengths[static_cast<size_t>(sampler.step(0)[0][0])],
            *std::max_element(lengths.begin(), lengths.end()));
  std::vector<int64_t> first = visited(sampler, 0, 15), second = visited(sampler, 15, 30);
  EXPECT_NE(first, second);
  std::sort(first.begin(), first.end());
  std::sort(second.begin(), second.end());
  EXPECT_EQ(first, second);
  EXPECT_EQ(std::set<int64_t>(first.begin(), first.end()).size(), 60u);
}

TEST(Sampler, a_run_shorter_than_an_epoch_charges_only_what_it_visits) {
  std::vector<Example> examples(4, Example{{1, 2}, {1, 2}});
  examples[3].ids.resize(100, 1);
  examples[3].labels.resize(100, 1);
  EXPECT_EQ(Sampler(single_rows(4), {.max_steps = 3, .shuffle = false}).capacity(examples).tokens,
            2);
  EXPECT_EQ(Sampler(single_rows(4), {.max_steps = 4, .shuffle = false}).capacity(examples).tokens,
            100);
}

}  // namespace
}  // namespace cairn
