// Lines of losses over steps, as plain SVG: the frame, the grid and what is drawn on it, shared by
// every picture of losses.
#pragma once

#include <string>
#include <vector>

#include "report/axis.h"
#include "report/loss_curve.h"

namespace cairn::plot {

inline constexpr double kWidth = 760, kHeight = 440;
inline constexpr double kLeft = 64, kRight = kWidth - 24, kTop = 76, kBottom = kHeight - 52;

// `name` is the class that a dark page recolours by.
struct Stroke {
  std::string name;
  std::string colour;
  double width = 2;
  double opacity = 1;
};

// The points whose loss is finite.
std::vector<LossPoint> finite_points(const std::vector<LossPoint>& points);
// No more points than pixels: of each group of neighbours the least and the greatest are kept, so
// that the width of the noise stays true. A group that is not finite leaves its gap.
std::vector<LossPoint> thinned(const std::vector<LossPoint>& points);
// " 1.234", or nothing without a finite loss.
std::string last_loss(const std::vector<LossPoint>& points);

struct Axes {
  Axis x, y;
};
// Axes around the points, at least one.
Axes make_axes(const std::vector<LossPoint>& points);

std::string grid(const Axes& axes);
// Losses that are not finite leave a gap.
std::string line(const std::vector<LossPoint>& points, const Stroke& stroke, const Axes& axes);
std::string dots(const std::vector<LossPoint>& points, const std::string& name,
                 const std::string& colour, const Axes& axes);
// One entry of a legend at (x, y); moves x behind it.
std::string legend_entry(double& x, double y, const Stroke& stroke, const std::string& text);

}  // namespace cairn::plot
