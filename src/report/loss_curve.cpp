// Drawing the loss curve as plain SVG.
#include "report/loss_curve.h"

#include <algorithm>
#include <cmath>

#include "report/plot.h"
#include "report/svg.h"

namespace cairn {
namespace {

constexpr double kLegend = 58;  // its baseline

constexpr const char* kDark = R"(  .raw { stroke: #a9cdf2; } .smooth { stroke: #6cb2ff; }
  .eval { stroke: #ffa45c; } .dot { fill: #ffa45c; stroke: #14181d; }
  .lone { fill: #6cb2ff; stroke: #14181d; }
)";

std::string drawn(const LossCurve& curve, const std::vector<LossPoint>& points) {
  const plot::Axes axes = plot::make_axes(points);
  std::string svg = plot::grid(axes);
  double x = plot::kLeft;
  if (!curve.training.empty()) {
    const plot::Stroke raw{"raw", "#2f6fb0", 1, 0.35}, smooth{"smooth", "#1f6feb", 2.5, 1};
    const std::vector<LossPoint> average = smoothed(curve.training);
    svg += plot::line(plot::thinned(curve.training), raw, axes);
    svg += plot::line(plot::thinned(average), smooth, axes);
    // A single point makes no line.
    if (curve.training.size() == 1) svg += plot::dots(curve.training, "lone", "#1f6feb", axes);
    svg += plot::legend_entry(x, kLegend, raw, "training loss");
    svg += plot::legend_entry(x, kLegend, smooth, "smoothed" + plot::last_loss(average));
  }
  if (!curve.evaluation.empty()) {
    const plot::Stroke evaluation{"eval", "#d9660a", 2, 1};
    svg += plot::line(curve.evaluation, evaluation, axes);
    svg += plot::dots(curve.evaluation, "dot", "#d9660a", axes);
    svg += plot::legend_entry(x, kLegend, evaluation,
                              "evaluation loss" + plot::last_loss(curve.evaluation));
  }
  return svg;
}

}  // namespace

std::vector<LossPoint> smoothed(const std::vector<LossPoint>& points) {
  // A window of about a fiftieth of the run.
  const double keep = 1 - 1 / (2 + static_cast<double>(points.size()) / 50);
  std::vector<LossPoint> result;
  double sum = 0, weight = 0;
  for (const LossPoint& point : points) {
    if (std::isfinite(point.loss)) {
      sum = keep * sum + (1 - keep) * point.loss;
      weight = keep * weight + (1 - keep);
    }
    result.push_back({point.step, std::isfinite(point.loss) ? sum / weight : point.loss});
  }
  return result;
}

std::string loss_curve_svg(const LossCurve& curve) {
  std::vector<LossPoint> points = plot::finite_points(curve.training);
  for (const LossPoint& point : plot::finite_points(curve.evaluation)) points.push_back(point);
  std::string svg = svg_head(plot::kWidth, plot::kHeight, plot::kLeft, curve.title, kDark);
  svg += points.empty()
             ? svg_words(plot::kWidth / 2, plot::kHeight / 2, "middle", "no losses were recorded")
             : drawn(curve, points);
  return svg + "</svg>\n";
}

}  // namespace cairn
