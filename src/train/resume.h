// Where a run begins: with step 1, or where a checkpoint ends. The rule is LLaMA-Factory's; a
// checkpoint is taken whole and checked, or not at all.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "train/trainer_state.h"

namespace cairn {

struct PreparedRun;

struct ResumePoint {
  std::string folder;  // of the checkpoint
  TrainerState state;
  std::vector<std::string> remarks;  // what the user should know, one sentence each
};

// Fills run.resume. Throws UserError where the recipe asks for a checkpoint that
// is not there, or that is one of another run (every difference is named); DamagedFile naming the
// file, and the checkpoint before it if that is whole. The caller holds the folder.
void choose_resume_point(PreparedRun& run);

// "changed since the checkpoint: ...", one for each value that changed; the new one holds after it.
std::vector<std::string> remarks_of_changes(const RunIdentity::Values& there,
                                            const RunIdentity::Values& here, int64_t step);

}  // namespace cairn
