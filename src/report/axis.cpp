// Round numbers on an axis: steps of 1, 2 or 5 times a power of ten.
// Losses are widened to the next round numbers, steps end where the run ends.
#include "report/axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/figures.h"

namespace cairn {
namespace {

// The round step (1, 2 or 5 times a power of ten) nearest above `rough`.
double round_step(double rough) {
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  for (double factor : {1.0, 2.0, 5.0})
    if (factor * power >= rough * 0.999) return factor * power;
  return 10 * power;
}

}  // namespace

Axis::Axis(double low, double high, int wanted_ticks, bool whole, double from, double to)
    : from_(from), to_(to) {
  if (!(high > low)) {  // one value: some room around it
    const double room = whole ? 1 : std::max(std::fabs(low) * 0.1, 0.1);
    low -= room;
    high += room;
  }
  step_ = round_step((high - low) / wanted_ticks);
  if (whole) step_ = std::max(step_, 1.0);
  const double first = std::floor(low / step_ + 1e-9), last = std::ceil(high / step_ - 1e-9);
  // Steps keep their own ends; losses are widened to round numbers.
  low_ = whole ? low : first * step_;
  high_ = whole ? high : last * step_;
  for (double tick = first; tick <= last; ++tick)
    if (tick * step_ >= low_ - step_ * 1e-6 && tick * step_ <= high_ + step_ * 1e-6)
      ticks_.push_back(tick * step_);
}

std::string Axis::text(double tick) const {
  if (step_ >= 1) return format_count(static_cast<int64_t>(std::llround(tick)));
  const int decimals = static_cast<int>(std::ceil(-std::log10(step_) - 1e-9));
  return fmt::format("{:.{}f}", tick, decimals);
}

}  // namespace cairn
