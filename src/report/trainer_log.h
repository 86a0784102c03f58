// TrainerLog: trainer_log.jsonl with LLaMA-Factory's keys, one JSON object a line, flushed line by
// line so that a run that is killed leaves every line it told.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "report/step_report.h"

namespace cairn {

class TrainerLog {
 public:
  // Starts the file anew, or goes on behind its lines. Throws UserError if it cannot be written.
  explicit TrainerLog(const std::filesystem::path& path, bool goes_on = false);

  // A line of the step's training loss; a step that was evaluated adds a second line with
  // eval_loss. Throws DeviceError if the disk refuses.
  void write(const StepReport& report);

 private:
  void write_line(const std::string& line);

  std::filesystem::path path_;
  std::ofstream file_;
};

}  // namespace cairn
