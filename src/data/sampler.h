// Sampler: which examples each optimizer step sees. Its unit is a row: one example, or a packed row
// of several. A pure function of the rows and the options, so every batch of a run, and with it the
// worst one, is known before step 1. Counting follows the Hugging Face trainer: a last partial
// batch and a last partial accumulation both count.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/batch.h"
#include "data/example.h"
#include "data/packing.h"

namespace cairn {

inline constexpr int64_t kMostSteps = 1000000000;

struct SamplerOptions {
  int64_t batch_size = 1;    // rows in a micro-batch of one rank
  int64_t ranks = 1;         // that take their rows of a micro-batch one after the other
  int64_t accumulation = 1;  // micro-batches in a step
  double epochs = 3.0;       // may be a fraction; unused when max_steps is set
  int64_t max_steps = -1;    // above 0: the number of steps, whatever the epochs
  uint64_t seed = 42;
  bool shuffle = true;           // a new permutation each epoch, keyed by (seed, epoch)
  bool group_by_length = false;  // a shuffled epoch has rows of like length together
};

using MicroBatch = std::vector<int64_t>;  // indices of examples
using SampledStep = std::vector<MicroBatch>;

class Sampler {
 public:
  // Throws UserError when there is nothing to train on: no row, or no step.
  Sampler(std::vector<Row> rows, const SamplerOptions& options);

  const std::vector<Row>& rows() const { return rows_; }

  int64_t steps() const { return steps_; }
  int64_t steps_per_epoch() const { return steps_per_epoch_; }
  int64_t batches_per_epoch() const { return batches_per_epoch_; }
  // What `rank` does in a step, counted from 0. The last step of an epoch may hold fewer
  // micro-batches, and a rank no row of the last one: all ranks have as many. Keeps the order of
  // the epoch it was asked for last, so it is not for several threads at once.
  SampledStep step(int64_t index, int64_t rank = 0) const;
  int64_t epoch_of(int64_t step) const { return step / steps_per_epoch_; }
  // Epochs done after so many steps, as transformers counts them: in micro-batches, of which the
  // last step of an epoch may have fewer.
  double epochs_after(int64_t steps) const;

  // The largest of each extent over every micro-batch of the run, on all ranks. Where the run
  // visits more rows than can be walked, what no micro-batch of these rows can exceed.
  Capacity capacity(std::span<const ExampleSize> examples) const;
  Capacity capacity(std::span<const Example> examples) const;

 private:
  const std::vector<int64_t>& order_of(int64_t epoch) const;
  Capacity bound_of_capacity(std::span<const ExampleSize> examples) const;

  std::vector<Row> rows_;
  SamplerOptions options_;
  int64_t batches_per_epoch_ = 0;
  int64_t steps_per_epoch_ = 0;
  int64_t steps_ = 0;
  // One epoch's at a time: a long run visits more epochs than memory holds orders.
  mutable std::vector<int64_t> order_;  // [rows], empty before the first step and without shuffle
  mutable int64_t ordered_epoch_ = -1;
};

// The batch of one micro-batch; of none, one token without a label.
Batch make_batch(std::span<const Example> examples, const MicroBatch& micro_batch);

}  // namespace cairn
