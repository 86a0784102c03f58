// What a training run tells while it goes: the progress line, trainer_log.jsonl, the loss curve.
#pragma once

#include <memory>
#include <vector>

#include "report/loss_curve.h"
#include "report/progress.h"
#include "report/trainer_log.h"
#include "train/engine.h"

namespace cairn::program {

inline constexpr const char* kTrainerLog = "trainer_log.jsonl";
inline constexpr const char* kLossCurve = "training_loss.svg";

class RunReporter : public TrainObserver {
 public:
  RunReporter(const Recipe& recipe, int64_t total_steps);

  void on_loaded(const std::vector<std::string>& unused_tensors) override;
  void on_step(const StepRecord& record) override;
  // Ends the progress line, and writes training_loss.svg if the recipe asks for it.
  void finish();

 private:
  const Recipe& recipe_;
  int64_t logging_steps_;
  Progress progress_;
  TrainerLog log_;
  LossSeries training_, evaluation_;
  int64_t total_tokens_ = 0;
  double loss_since_log_ = 0;
  int64_t steps_since_log_ = 0;
};

}  // namespace cairn::program
