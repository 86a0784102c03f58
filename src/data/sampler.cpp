// The order of rows, cut into micro-batches and steps.
#include "data/sampler.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "base/bytes.h"
#include "base/error.h"
#include "base/random.h"
#include "data/length_groups.h"

namespace cairn {
namespace {

// Streams of the run's seed are told apart by what they are for.
constexpr uint64_t kOrderStream = uint64_t{0x6f72646572} << 24;  // "order", then the epoch

// Rows that capacity() walks, a few seconds of work; one epoch is always walked.
constexpr int64_t kMostWalkedRows = int64_t{1} << 26;

std::vector<ExampleSize> sizes_of(std::span<const Example> examples) {
  std::vector<ExampleSize> sizes;
  sizes.reserve(examples.size());
  for (const Example& example : examples) sizes.push_back(example.size());
  return sizes;
}

Capacity capacity_of_chosen(std::span<const ExampleSize> examples,
                            const std::vector<int64_t>& chosen) {
  Capacity capacity;
  for (const int64_t i : chosen) {
    const ExampleSize& size = examples[static_cast<size_t>(i)];
    capacity.tokens += size.tokens;
    capacity.longest_segment = std::max(capacity.longest_segment, size.tokens);
    capacity.labelled_rows += size.trained_labels;
    ++capacity.segments;
  }
  return capacity;
}

int64_t sum_of_largest(std::vector<int64_t>& values, int64_t count) {
  std::sort(values.begin(), values.end(), std::greater<>());
  const int64_t taken = std::min(count, static_cast<int64_t>(values.size()));
  return std::accumulate(values.begin(), values.begin() + taken, int64_t{0});
}

void check_options(const std::vector<Row>& rows, const SamplerOptions& options) {
  if (rows.empty())
    throw UserError("there is no example to train on: the data set is empty after preparation");
  CAIRN_CHECK(options.ranks >= 1, "[sampler] wanted at least one rank, got {}", options.ranks);
  if (options.batch_size < 1 || options.accumulation < 1)
    throw UserError(
        fmt::format("the batch size and the accumulation steps must be at least 1, got "
                    "{} and {}",
                    options.batch_size, options.accumulation));
  if (options.max_steps <= 0 && !(options.epochs > 0))
    throw UserError(fmt::format(
        "the run has no step: num_train_epochs is {} and max_steps is not set; give one above 0",
        options.epochs));
}

}  // namespace

Sampler::Sampler(std::vector<Row> rows, const SamplerOptions& options)
    : rows_(std::move(rows)), options_(options) {
  check_options(rows_, options);
  const auto count = static_cast<int64_t>(rows_.size());
  const int64_t batch_of_all = options.batch_size * options.ranks;
  batches_per_epoch_ = ceil_div(count, batch_of_all);
  steps_per_epoch_ = ceil_div(batches_per_epoch_, options.accumulation);
  if (options.max_steps > 0) {
    steps_ = options.max_steps;
  } else {
    const double steps = std::ceil(options.epochs * static_cast<double>(steps_per_epoch_));
    // Not a number fails as well.
    if (!(steps <= static_cast<double>(kMostSteps)))
      throw UserError(fmt::format("num_train_epochs {} makes more than the {} steps of a run",
                                  options.epochs, kMostSteps));
    steps_ = static_cast<int64_t>(steps);
  }
}

const std::vector<int64_t>& Sampler::order_of(int64_t epoch) const {
  if (epoch == ordered_epoch_) return order_;
  const auto count = static_cast<int64_t>(rows_.size());
  order_ = random_permutation(count, options_.seed, kOrderStream + static_cast<uint64_t>(epoch));
  // As in the Hugging Face trainer, a batch of the grouping is all that an optimizer step takes.
  if (options_.group_by_length) {
    std::vector<int64_t> lengths;
    for (const Row& row : rows_) lengths.push_back(row.tokens);
    order_ = group_by_length(std::move(order_), lengths,
                             std::min(count, options_.batch_size * options_.ranks) *
                                 std::min(count, options_.accumulation));
  }
  ordered_epoch_ = epoch;
  return order_;
}

double Sampler::epochs_after(int64_t steps) const {
  const int64_t batches =
      std::min(steps % steps_per_epoch_ * options_.accumulation, batches_per_epoch_);
  return static_cast<double>(epoch_of(steps)) +
         static_cast<double>(batches) / static_cast<double>(batches_per_epoch_);
}

SampledStep Sampler::step(int64_t index, int64_t rank) const {
  CAIRN_CHECK(index >= 0 && index < steps_, "[sampler] wanted a step below {}, got {}", steps_,
              index);
  const std::vector<int64_t>* order = options_.shuffle ? &order_of(epoch_of(index)) : nullptr;
  const int64_t first_batch = index % steps_per_epoch_ * options_.accumulation;
  const int64_t last_batch = std::min(first_batch + options_.accumulation, batches_per_epoch_);
  SampledStep step;
  step.reserve(static_cast<size_t>(last_batch - first_batch));
  for (int64_t batch = first_batch; batch < last_batch; ++batch) {
    const auto rows = static_cast<int64_t>(rows_.size());
    const int64_t first = std::min((batch * options_.ranks + rank) * options_.batch_size, rows);
    const int64_t last = std::min(first + options_.batch_size, rows);
    MicroBatch& indices = step.emplace_back();
    for (int64_t i = first; i < last; ++i) {
      const int64_t row = order ? (*order)[static_cast<size_t>(i)] : i;
      const std::vector<int64_t>& examples = rows_[static_cast<size_t>(row)].examples;
      indices.insert(indices.end(), examples.begin(), examples.end());
    }
  }
  return step;
}

// The micro-batch of the largest rows, each extent by itself.
Capacity Sampler::bound_of_capacity(std::span<const ExampleSize> examples) const {
  Capacity bound;
  std::vector<int64_t> tokens, segments, labelled;  // [rows]
  for (const Row& row : rows_) {
    const Capacity capacity = capacity_of_chosen(examples, row.examples);
    bound.longest_segment = std::max(bound.longest_segment, capacity.longest_segment);
    tokens.push_back(capacity.tokens);
    segments.push_back(capacity.segments);
    labelled.push_back(capacity.labelled_rows);
  }
  bound.tokens = sum_of_largest(tokens, options_.batch_size);
  bound.segments = sum_of_largest(segments, options_.batch_size);
  bound.labelled_rows = sum_of_largest(labelled, options_.batch_size);
  return bound;
}

Capacity Sampler::capacity(std::span<const Example> examples) const {
  return capacity(sizes_of(examples));
}

Capacity Sampler::capacity(std::span<const ExampleSize> examples) const {
  Capacity capacity;
  // Without shuffling every epoch is the first one again.
  const int64_t distinct = options_.shuffle ? steps_ : std::min(steps_, steps_per_epoch_);
  const auto rows = static_cast<int64_t>(rows_.size());
  if (ceil_div(distinct, steps_per_epoch_) > std::max<int64_t>(1, kMostWalkedRows / rows))
    return bound_of_capacity(examples);
  for (int64_t at = 0; at < distinct * options_.ranks; ++at)
    for (const MicroBatch& micro_batch : step(at / options_.ranks, at % options_.ranks))
      capacity = elementwise_max(capacity, capacity_of_chosen(examples, micro_batch));
  return capacity;
}

Batch make_batch(std::span<const Example> examples, const MicroBatch& micro_batch) {
  if (micro_batch.empty()) {
    static const Example token{.ids = {0}, .labels = {kIgnored}};
    const Example* const one[] = {&token};
    return make_batch(one);
  }
  std::vector<const Example*> chosen;
  chosen.reserve(micro_batch.size());
  for (int64_t i : micro_batch) {
    CAIRN_CHECK(i >= 0 && i < static_cast<int64_t>(examples.size()),
                "[batch] wanted an example below {}, got {}", examples.size(), i);
    chosen.push_back(&examples[static_cast<size_t>(i)]);
  }
  Batch batch = make_batch(chosen);
  for (int32_t& sample : batch.samples)
    sample = static_cast<int32_t>(micro_batch[static_cast<size_t>(sample)]);
  return batch;
}

}  // namespace cairn
