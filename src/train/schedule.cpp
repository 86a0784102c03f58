#include "train/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace cairn {

double Schedule::learning_rate(int64_t step) const {
  if (type == SchedulerType::constant) return peak;
  const auto now = static_cast<double>(step);
  if (step < warmup_steps) return peak * now / static_cast<double>(warmup_steps);
  const auto left = static_cast<double>(std::max<int64_t>(1, total_steps - warmup_steps));
  const double progress = (now - static_cast<double>(warmup_steps)) / left;
  switch (type) {
    case SchedulerType::linear:
      return peak * std::max(0.0, 1 - progress);
    case SchedulerType::cosine:
      return peak * std::max(0.0, 0.5 * (1 + std::cos(std::numbers::pi * progress)));
    case SchedulerType::constant:
    case SchedulerType::constant_with_warmup:
      break;
  }
  return peak;
}

}  // namespace cairn
