// The learning rate over the steps of a run: warm-up, then linear, cosine or constant, as
// transformers' get_*_schedule_with_warmup.
#pragma once

#include <cstdint>

#include "train/recipe.h"

namespace cairn {

struct Schedule {
  SchedulerType type = SchedulerType::linear;
  double peak = 0;  // learning rate after warm-up
  int64_t warmup_steps = 0;
  int64_t total_steps = 1;

  // The rate of step 0, 1, ...
  double learning_rate(int64_t step) const;
};

}  // namespace cairn
