// A training run inside another program: it plans, checks the budget, trains, writes output_dir,
// and tells while it goes. It takes no signal and leaves no global state behind.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cairn/ledger.h"
#include "cairn/recipe.h"

namespace cairn {

struct TrainProgress {
  int64_t step = 0;  // 1 for the first
  int64_t total_steps = 0;
  double epoch = 0;
  double loss = 0;           // mean over the step's label tokens
  double gradient_norm = 0;  // before clipping
  double learning_rate = 0;
  double step_seconds = 0;
  int64_t bytes_in_use = 0;         // charged now
  std::optional<double> eval_loss;  // if this step evaluated
};

// Both are called on the thread that called train(), between steps. Each may be empty. What they
// throw ends the run and passes through.
struct TrainCallbacks {
  std::function<void(const TrainProgress&)> on_step;
  // True ends the run after this step with a checkpoint in output_dir, from which the recipe with
  // resume_from_checkpoint: true goes on to the bit. Once true it must stay so.
  std::function<bool()> wants_stop;
};

struct TrainReport {
  bool stopped = false;    // by wants_stop, before the last step
  std::string checkpoint;  // the last that a run can go on from; empty: none
  int64_t steps = 0;       // made, by this run and those that it went on from
  double seconds = 0;
  double first_loss = 0, last_loss = 0;  // means over the first and the last few steps
  std::optional<double> eval_loss;       // after the last step
  MemoryPeak predicted, measured;        // equal, or the promise is broken
  int64_t arena_bytes = 0;
  int64_t runtime_bytes = 0;
  int64_t budget_bytes = 0;
  std::string output_dir;
  std::vector<std::string> remarks;  // what the user should know, one sentence each
};

// Whatever do_train says. The program's reports (trainer_log.jsonl, ledger.json, the loss curve)
// are the caller's to write. Throws Error; one of kind does_not_fit before anything is loaded.
TrainReport train(const RunRecipe& recipe, const TrainCallbacks& callbacks = {});

}  // namespace cairn
