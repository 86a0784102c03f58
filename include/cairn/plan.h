// A plan: what a run will allocate, before anything is loaded. It is the run's own step on memory
// that nothing may touch, not an estimate.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cairn/ledger.h"
#include "cairn/recipe.h"

namespace cairn {

struct PlanReport {
  bool fits = false;
  int64_t budget_bytes = 0;
  int64_t arena_bytes = 0;    // what the run reserves: the peak, and what alignment costs
  int64_t runtime_bytes = 0;  // this process as it is
  MemoryPeak predicted;
  double step_seconds = 0;  // estimated, and so is the next one
  double tokens_per_second = 0;
  std::string recipe;            // as YAML, with what the plan chose in the place of "auto"
  std::vector<std::string> why;  // the choices, one sentence each
};

// With model and data on disk, the batches of the run itself decide; without data every batch is as
// long as cutoff_len allows, and the model may be a known name. Throws Error; not fitting is no
// error.
PlanReport plan(const RunRecipe& recipe);

}  // namespace cairn
