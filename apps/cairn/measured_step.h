// A training step on random weights, timed in turns with a product of a block's size: what the
// measurements of steps share.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "backend/registry.h"
#include "data/batch.h"
#include "train/trainer.h"

namespace cairn::program {

// "8x256": samples x tokens. Throws UserError.
struct BatchShape {
  int64_t samples = 0, tokens = 0;
};
BatchShape parse_shape(const std::string& text);

// Random ids, every row labelled.
Batch make_random_batch(const BatchShape& shape, int64_t vocab);

// "lora", "qlora" or "full" for that batch, in bf16, with further keys of a recipe; nothing is
// checkpointed unless a key says so. Throws UserError for other words.
TrainSpec make_bench_spec(const ModelConfig& config, const std::string& method, const Batch& batch,
                          const std::vector<std::string>& keys = {});

struct MeasuredStep {
  double useful_flops = 0;  // recomputation is not counted
  double gemm_rate = 0;     // operations a second of a product, between the steps
  double step_seconds = 0;
  int64_t tokens = 0, arena_bytes = 0, runtime_bytes = 0, peak_resident = 0;
  Snapshot predicted, measured;

  // Whether the accounts are what was rehearsed, to the byte.
  bool as_predicted() const {
    return predicted.peak_bytes() == measured.peak_bytes() &&
           predicted.accounts_at_peak() == measured.accounts_at_peak() &&
           predicted.peaks_of_accounts() == measured.peaks_of_accounts();
  }

  double rate() const { return useful_flops / step_seconds; }
  // Of the product's rate: comparable between steps that a noisy machine ran at different speeds.
  double share() const { return rate() / gemm_rate; }
};

// Medians of so many steps, after one that warms up unless a step takes over a minute. Throws
// OutOfBudget where this machine has not the memory.
MeasuredStep measure_step(const TrainSpec& spec, const Batch& batch, int repeats, Backend& backend);

nlohmann::ordered_json to_json(const MeasuredStep& measured);

}  // namespace cairn::program
