// A DeepSpeed JSON as it was understood: plain data, each number as given, or "auto", or
// DeepSpeed's own default. Sizes count elements. What a run makes of it is
// train/deepspeed/deepspeed_recipe.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cairn {

// A value that may be left to the run. Nothing at all: the key was not given.
template <typename T>
struct Setting {
  bool is_auto = false;
  std::optional<T> value;
  bool operator==(const Setting&) const = default;
};

enum class OffloadDevice : uint8_t { none, cpu, nvme };

struct DeepspeedOffload {
  OffloadDevice device = OffloadDevice::none;
  std::string nvme_path;  // empty: not given
  bool operator==(const DeepspeedOffload&) const = default;
};

// The object "zero_optimization".
struct DeepspeedZero {
  int64_t stage = 0;
  std::optional<bool> overlap_comm;  // none: under stage 3 alone
  Setting<int64_t> reduce_bucket_size = {false, 500'000'000};
  int64_t allgather_bucket_size = 500'000'000;
  Setting<int64_t> stage3_prefetch_bucket_size = {false, 50'000'000};
  Setting<int64_t> stage3_param_persistence_threshold = {false, 100'000};
  DeepspeedOffload offload_param, offload_optimizer;
  bool operator==(const DeepspeedZero&) const = default;
};

// The objects "optimizer" and "scheduler", which must say what the recipe says.
struct DeepspeedOptimizer {
  std::string type;  // empty: not given
  Setting<double> lr, eps, weight_decay;
  Setting<std::pair<double, double>> betas;
  bool operator==(const DeepspeedOptimizer&) const = default;
};
struct DeepspeedScheduler {
  std::string type;  // empty: not given
  Setting<double> warmup_min_lr, warmup_max_lr;
  Setting<int64_t> warmup_num_steps, total_num_steps;
  bool rises_in_a_line = false;  // warmup_type; DeepSpeed's own is the logarithm
  bool operator==(const DeepspeedScheduler&) const = default;
};

struct DeepspeedConfig {
  std::string origin;  // names it in errors: a path, or where the text came from
  Setting<int64_t> train_batch_size, train_micro_batch_size_per_gpu, gradient_accumulation_steps;
  Setting<double> gradient_clipping;
  Setting<bool> fp16, bf16;  // their "enabled"
  bool cpu_checkpointing = false;
  DeepspeedZero zero;
  DeepspeedOptimizer optimizer;
  DeepspeedScheduler scheduler;
  // Keys that were given and change nothing here, each with the reason.
  std::vector<std::pair<std::string, std::string>> without_effect;
  bool operator==(const DeepspeedConfig&) const = default;
};

}  // namespace cairn
