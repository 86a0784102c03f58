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
  if (in_group_ == 0) low_ = high_ = point;
  widen(low_, high_, point);
  if (++in_group_ < group_) return;
  append_group(points_);
  in_group_ = 0;
  if (points_.size() < kMost) return;
  std::vector<LossPoint> all;
  all.swap(points_);
  // Two points a group hereafter, so four points are two groups.
  group_ = group_ == 1 ? 4 : 2 * group_;
  for (size_t begin = 0; begin + 3 < all.size(); begin += 4) {
    low_ = high_ = all[begin];
    for (size_t i = begin + 1; i < begin + 4; ++i) widen(low_, high_, all[i]);
    append_group(points_);
  }
}

void LossSeries::append_group(std::vector<LossPoint>& points) const {
  if (low_.step == high_.step) {
    points.push_back(low_);
    return;
  }
  points.push_back(low_.step < high_.step ? low_ : high_);
  points.push_back(low_.step < high_.step ? high_ : low_);
}

std::vector<LossPoint> LossSeries::points() const {
  std::vector<LossPoint> points = points_;
  if (in_group_ > 0) append_group(points);
  return points;
}

}  // namespace cairn
