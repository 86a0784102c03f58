// What is told of one optimizer step: plain data for the progress line, the log and the curve.
#pragma once

#include <cstdint>
#include <optional>

namespace cairn {

struct StepReport {
  int64_t step = 0;  // 1 for the first
  int64_t total_steps = 0;
  double epoch = 0;
  double loss = 0;  // mean per trained token
  double learning_rate = 0;
  double gradient_norm = 0;
  double tokens_per_second = 0;
  int64_t total_tokens = 0;         // since step 1
  double seconds_elapsed = 0;       // since step 1 began
  double seconds_left = 0;          // an estimate; negative: not known
  int64_t bytes_in_use = 0;         // held on the device
  std::optional<double> eval_loss;  // if this step ended with an evaluation
};

}  // namespace cairn
