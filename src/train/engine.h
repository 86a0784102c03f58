// Engine: the one place that composes a training run: load, steps, evaluations, saves. It does no
// arithmetic on tensors and prints nothing; whoever watches is told through TrainObserver.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "files/output_folder.h"
#include "train/prepare.h"

namespace cairn {

struct StepRecord {
  int64_t step = 0;  // 1 for the first
  int64_t total_steps = 0;
  double epoch = 0;
  double learning_rate = 0;
  StepOutcome outcome;
  double seconds = 0;          // of this step
  double seconds_elapsed = 0;  // since step 1 began
  int64_t bytes_in_use = 0;    // charged at the end of the step
  std::optional<double> eval_loss;
};

class TrainObserver {
 public:
  virtual ~TrainObserver() = default;
  virtual void on_loaded(const std::vector<std::string>& unused_tensors) = 0;
  virtual void on_step(const StepRecord& record) = 0;
};

struct RunSummary {
  int64_t steps = 0;
  double seconds = 0;
  // Means over the first and the last kSummarySteps steps: single batches differ.
  static constexpr int64_t kSummarySteps = 10;
  double first_loss = 0, last_loss = 0;
  std::optional<double> eval_loss;  // mean per token, after the last step
  int64_t trained_tokens = 0;
};

// Runs the whole recipe and writes output_dir. Throws UserError if output_dir cannot be used.
RunSummary run_training(const PreparedRun& run, Backend& backend, Arena& arena,
                        TrainObserver& observer);

// Runs a step of a very small model on its own arena, so that threads and libraries have taken what
// they take before the process is measured.
void warm_up(Backend& backend);

// Holds output_dir for the run. `reports` are the files that the caller writes there itself. Throws
// UserError if the folder cannot be made, is the model's own, is held by another run, has something
// in the way of a file of the run, or holds such a file and overwriting was not asked for.
[[nodiscard]] std::unique_ptr<FolderLock> open_output_folder(
    const PreparedRun& run, const std::vector<std::string_view>& reports);

}  // namespace cairn
