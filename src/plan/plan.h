// Plan: a recipe, its rehearsal and why. What it says of memory is what the run will allocate.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/rehearse.h"
#include "train/prepare.h"

namespace cairn {

struct Plan {
  Recipe recipe;                     // auto replaced by what was chosen
  TrainSpec spec;                    // what the run must be given
  PolicyChoice asked_checkpointing;  // as the recipe had it
  Rehearsal rehearsal;
  int64_t budget_bytes = 0;
  int64_t runtime_bytes = 0;    // the process itself
  int64_t tokens_per_step = 0;  // of all ranks
  std::vector<std::string> why;

  // What must be free: the arena and the process.
  int64_t needed_bytes() const { return rehearsal.arena_bytes() + runtime_bytes; }
  bool fits() const { return needed_bytes() <= budget_bytes; }
  double tokens_per_second() const {
    return rehearsal.step_seconds > 0
               ? static_cast<double>(tokens_per_step) / rehearsal.step_seconds
               : 0;
  }
};

// The model's shape from a folder, a config.json, a GGUF, or a known name. Throws UserError.
ModelConfig find_model_config(const std::string& name, const std::filesystem::path& recipe_folder);

// Rehearses a prepared run: the capacities are those of its data.
Plan plan_run(const PreparedRun& run, const TargetProfile& profile, int64_t budget_bytes,
              int64_t runtime_bytes);
// Rehearses a recipe without files: every batch is as long as cutoff_len allows.
Plan plan_recipe(const Recipe& recipe, const ModelConfig& config, const TargetProfile& profile,
                 int64_t budget_bytes, int64_t runtime_bytes, World world = {});

}  // namespace cairn
