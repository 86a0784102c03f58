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
  // A sentence that the user should know.
  virtual void on_remark(const std::string&) {}
  // A checkpoint is being written to `folder`: what the observer has told so far goes there too, so
  // that it can go on from there. Files are written whole.
  virtual void save_state(const std::string&) {}
  // That checkpoint is whole, and has its own name.
  virtual void on_checkpoint(const std::string&) {}
  // Asked between two steps. True ends the run after a checkpoint.
  virtual bool wants_stop() { return false; }
};

struct RunSummary {
  int64_t steps = 0;       // made, by this process and those that it went on from
  bool stopped = false;    // before the last step, since the observer wanted it
  std::string checkpoint;  // the last that is whole; empty: none
  double seconds = 0;
  // Means over the first and the last kSummarySteps steps: single batches differ.
  static constexpr int64_t kSummarySteps = 10;
  double first_loss = 0, last_loss = 0;
  std::optional<double> eval_loss;  // mean per token, after the last step
  int64_t trained_tokens = 0;
};

// Runs the recipe from where it begins (run.resume) to its end, and writes output_dir. With
// `ranks`, run.spec.world of them call it together, and rank 0 writes. Throws NotFinite with the
// step and the rows of its batch when training went astray, DeviceError when the disk refuses; the
// last whole checkpoint stays as it is.
RunSummary run_training(const PreparedRun& run, Backend& backend, Arena& arena,
                        TrainObserver& observer, Communicator* ranks = nullptr);

// Runs a step of a very small model on its own arena, so that threads and libraries have taken what
// they take before the process is measured.
void warm_up(Backend& backend);

// Holds output_dir for the run, removes what a run that was killed left there, and says where the
// run begins (choose_resume_point). `reports` are the files that the caller writes there itself.
// Throws UserError if the folder cannot be made, is the model's own, is held by another run, has
// something in the way of a file of the run, or holds such a file and overwriting was not asked
// for.
[[nodiscard]] std::unique_ptr<FolderLock> open_output_folder(
    PreparedRun& run, const std::vector<std::string_view>& reports);

}  // namespace cairn
