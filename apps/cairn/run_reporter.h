// What a training run tells while it goes: the progress line, trainer_log.jsonl, the loss curve.
// All of it goes on where it was when a run resumes.
#pragma once

#include <optional>
#include <vector>

#include "report/loss_curve.h"
#include "report/progress.h"
#include "report/trainer_log.h"
#include "train/engine.h"

namespace cairn::program {

// Not recipe.yaml: that is what users call theirs, which may lie in output_dir.
inline constexpr const char* kResolvedRecipe = "resolved_recipe.yaml";
inline constexpr const char* kTrainerLog = "trainer_log.jsonl";
inline constexpr const char* kLossCurve = "training_loss.svg";

class RunReporter : public TrainObserver {
 public:
  // Nothing of an earlier run is replaced before the model is loaded.
  explicit RunReporter(const PreparedRun& run);

  void on_loaded(const std::vector<std::string>& unused_tensors) override;
  void on_step(const StepRecord& record) override;
  void on_remark(const std::string& remark) override { progress_.say("note: " + remark); }
  void on_checkpoint(const std::string& folder) override { progress_.say("saved " + folder); }
  void save_state(const std::string& folder) override;
  bool wants_stop() override;
  // Ends the progress line, and writes training_loss.svg if the recipe asks for it.
  void finish();

 private:
  // What it counts between two lines of the log, and the losses that it has seen.
  struct Told {
    int64_t total_tokens = 0;
    double loss_since_log = 0;
    int64_t steps_since_log = 0;
    LossSeries training, evaluation;
  };
  static Told told_before(const PreparedRun& run);

  const PreparedRun& run_;
  const Recipe& recipe_;
  int64_t logging_steps_;
  Progress progress_;
  std::optional<TrainerLog> log_;  // from the moment that the model is loaded
  Told told_;
};

}  // namespace cairn::program
