// The loss of a run as an SVG picture that stands alone: raw and smoothed training loss, evaluation
// loss if there is any, readable on a light and on a dark page.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cairn {

struct LossPoint {
  int64_t step = 0;
  double loss = 0;
};

struct LossCurve {
  std::string title;                  // such as output_dir
  std::vector<LossPoint> training;    // steps ascending
  std::vector<LossPoint> evaluation;  // may be empty
};

// Losses that are not finite leave a gap. Without any point the picture says so.
std::string loss_curve_svg(const LossCurve& curve);

// Exponential moving average without the pull of its start; longer runs are smoothed more.
std::vector<LossPoint> smoothed(const std::vector<LossPoint>& points);

}  // namespace cairn
