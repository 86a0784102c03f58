// Keeping the losses of a long run.
#include <cmath>

#include "report/loss_curve.h"

namespace cairn {
namespace {

// Widens a group by a point; one loss that is not finite makes the group a gap.
void widen(LossPoint& low, LossPoint& high, const LossPoint& point) {
  if (!std::isfinite(low.loss)) return;
  if (!std::isfinite(point.loss)) {
    low = high = point;
    return;
  }
  if (point.loss < low.loss) low = point;
  if (point.loss > high.loss) high = point;
}

}  // namespace

void LossSeries::add(LossPoint point) {
  auto& [points, low, high, in_group, group] = state_;
  if (in_group == 0) low = high = point;
  widen(low, high, point);
  if (++in_group < group) return;
  append_group(points);
  in_group = 0;
  if (points.size() < kMost) return;
  std::vector<LossPoint> all;
  all.swap(points);
  // Two points a group hereafter, so four points are two groups.
  group = group == 1 ? 4 : 2 * group;
  for (size_t begin = 0; begin + 3 < all.size(); begin += 4) {
    low = high = all[begin];
    for (size_t i = begin + 1; i < begin + 4; ++i) widen(low, high, all[i]);
    append_group(points);
  }
}

void LossSeries::append_group(std::vector<LossPoint>& points) const {
  const LossPoint &low = state_.low, &high = state_.high;
  if (low.step == high.step) {
    points.push_back(low);
    return;
  }
  points.push_back(low.step < high.step ? low : high);
  points.push_back(low.step < high.step ? high : low);
}

std::vector<LossPoint> LossSeries::points() const {
  std::vector<LossPoint> points = state_.points;
  if (state_.in_group > 0) append_group(points);
  return points;
}

}  // namespace cairn
