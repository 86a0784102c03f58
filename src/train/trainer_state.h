// TrainerState: where a run is, as trainer_state.json of a checkpoint has it. Numbers are written
// so that they are read back to the bit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "train/run_identity.h"
#include "train/trainer.h"

namespace cairn {

inline constexpr const char* kTrainerState = "trainer_state.json";

struct TrainerState {
  int64_t step = 0;  // steps that were made
  int64_t total_steps = 0;
  double epoch = 0;
  double seconds = 0;  // in steps, over all parts of the run
  TrainerCounts counts;
  int64_t trained_tokens = 0;
  std::vector<double> first_losses, last_losses;  // those that the summary averages
  std::optional<double> eval_loss;                // the latest
  RunIdentity identity;
};

void write_trainer_state(const std::string& folder, const TrainerState& state);
// Throws DamagedFile.
TrainerState read_trainer_state(const std::string& folder);

}  // namespace cairn
