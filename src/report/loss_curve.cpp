// Drawing the loss curve as plain SVG.
#include "report/loss_curve.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/axis.h"
#include "report/svg.h"

namespace cairn {
namespace {

constexpr double kWidth = 760, kHeight = 440;
constexpr double kLeft = 64, kRight = kWidth - 24, kTop = 76, kBottom = kHeight - 52;
// More points than pixels only make the file large.
constexpr size_t kMostPoints = 1000;

constexpr const char* kDark = R"(  .raw { stroke: #a9cdf2; } .smooth { stroke: #6cb2ff; }
  .eval { stroke: #ffa45c; } .dot { fill: #ffa45c; stroke: #14181d; }
  .lone { fill: #6cb2ff; stroke: #14181d; }
)";

std::vector<LossPoint> finite_points(const LossCurve& curve) {
  std::vector<LossPoint> points;
  for (const auto* series : {&curve.training, &curve.evaluation})
    for (const LossPoint& point : *series)
      if (std::isfinite(point.loss)) points.push_back(point);
  return points;
}

// Of each group of neighbours the least and the greatest are kept, so that the width of the noise
// stays true. A group that is not finite leaves its gap.
std::vector<LossPoint> thinned(const std::vector<LossPoint>& points) {
  const size_t group = 2 * (points.size() + kMostPoints - 1) / kMostPoints;
  if (group <= 2) return points;
  std::vector<LossPoint> few;
  const auto is_less = [](const LossPoint& a, const LossPoint& b) { return a.loss < b.loss; };
  for (size_t begin = 0; begin < points.size(); begin += group) {
    const auto first = points.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto last =
        points.begin() + static_cast<std::ptrdiff_t>(std::min(begin + group, points.size()));
    const auto gap = std::find_if(
        first, last, [](const LossPoint& point) { return !std::isfinite(point.loss); });
    if (gap != last) {
      few.push_back(*gap);
      continue;
    }
    auto [low, high] = std::minmax_element(first, last, is_less);
    if (high < low) std::swap(low, high);
    few.push_back(*low);
    few.push_back(*high);
  }
  return few;
}

std::string path_of(const std::vector<LossPoint>& points, const Axis& x, const Axis& y) {
  std::string path;
  bool pen_down = false;
  for (const LossPoint& point : points) {
    const bool finite = std::isfinite(point.loss);
    if (finite)
      path += fmt::format("{}{:.1f},{:.1f}", pen_down ? " L" : " M",
                          x.pixel(static_cast<double>(point.step)), y.pixel(point.loss));
    pen_down = finite;
  }
  return path.empty() ? path : path.substr(1);
}

std::string line_of(const char* name, const char* colour, double width, double opacity,
                    const std::string& path) {
  if (path.empty()) return "";
  return fmt::format(
      R"(<path class="{}" d="{}" fill="none" stroke="{}" stroke-width="{}" stroke-opacity="{}" )"
      "stroke-linejoin=\"round\" stroke-linecap=\"round\"/>\n",
      name, path, colour, width, opacity);
}

std::string dots(const std::vector<LossPoint>& points, const char* name, const char* colour,
                 const Axis& x, const Axis& y) {
  std::string svg;
  for (const LossPoint& point : points)
    if (std::isfinite(point.loss))
      svg += fmt::format(
          R"(<circle class="{}" cx="{:.1f}" cy="{:.1f}" r="4" fill="{}" stroke="#ffffff" )"
          "stroke-width=\"1.5\"/>\n",
          name, x.pixel(static_cast<double>(point.step)), y.pixel(point.loss), colour);
  return svg;
}

std::string grid(const Axis& x, const Axis& y) {
  std::string svg;
  for (double tick : y.ticks()) {
    const double at = y.pixel(tick);
    svg +=
        fmt::format(R"(<path class="grid" d="M{},{:.1f} H{}" stroke="#e4e7eb" stroke-width="1"/>)"
                    "\n",
                    kLeft, at, kRight);
    svg += svg_words(kLeft - 10, at + 4, "end", y.text(tick));
  }
  svg += fmt::format(R"(<path class="axis" d="M{},{} H{}" stroke="#8b95a1" stroke-width="1"/>)"
                     "\n",
                     kLeft, kBottom, kRight);
  for (double tick : x.ticks()) {
    const double at = x.pixel(tick);
    svg += fmt::format(R"(<path class="axis" d="M{:.1f},{} v5" stroke="#8b95a1" stroke-width="1"/>)"
                       "\n",
                       at, kBottom);
    svg += svg_words(at, kBottom + 20, "middle", x.text(tick));
  }
  svg += svg_words((kLeft + kRight) / 2, kHeight - 12, "middle", "step");
  return svg;
}

// One entry of the legend; returns the x after it.
double legend_entry(std::string& svg, double x, const char* name, const char* colour,
                    double opacity, const std::string& text) {
  svg += line_of(name, colour, 2.5, opacity, fmt::format("M{:.0f},54 h18", x));
  svg += svg_words(x + 25, 58, "start", text);
  return x + 25 + 6.3 * static_cast<double>(text.size()) + 22;
}

std::string last_loss(const std::vector<LossPoint>& points) {
  for (auto point = points.rbegin(); point != points.rend(); ++point)
    if (std::isfinite(point->loss)) return fmt::format(" {:.3f}", point->loss);
  return "";
}

std::string drawn(const LossCurve& curve, const std::vector<LossPoint>& points) {
  const auto [left, right] =
      std::minmax_element(points.begin(), points.end(),
                          [](const LossPoint& a, const LossPoint& b) { return a.step < b.step; });
  const auto [low, high] =
      std::minmax_element(points.begin(), points.end(),
                          [](const LossPoint& a, const LossPoint& b) { return a.loss < b.loss; });
  const Axis x(static_cast<double>(left->step), static_cast<double>(right->step), 8, true, kLeft,
               kRight);
  const Axis y(low->loss, high->loss, 5, false, kBottom, kTop);

  std::string svg = grid(x, y);
  double legend = kLeft;
  if (!curve.training.empty()) {
    const std::vector<LossPoint> smooth = smoothed(curve.training);
    svg += line_of("raw", "#2f6fb0", 1, 0.35, path_of(thinned(curve.training), x, y));
    svg += line_of("smooth", "#1f6feb", 2.5, 1, path_of(thinned(smooth), x, y));
    // A single point makes no line.
    if (curve.training.size() == 1) svg += dots(curve.training, "lone", "#1f6feb", x, y);
    legend = legend_entry(svg, legend, "raw", "#2f6fb0", 0.35, "training loss");
    legend = legend_entry(svg, legend, "smooth", "#1f6feb", 1, "smoothed" + last_loss(smooth));
  }
  if (!curve.evaluation.empty()) {
    svg += line_of("eval", "#d9660a", 2, 1, path_of(curve.evaluation, x, y));
    svg += dots(curve.evaluation, "dot", "#d9660a", x, y);
    legend_entry(svg, legend, "eval", "#d9660a", 1,
                 "evaluation loss" + last_loss(curve.evaluation));
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
  const std::vector<LossPoint> points = finite_points(curve);
  std::string svg = svg_head(kWidth, kHeight, kLeft, curve.title, kDark);
  svg += points.empty() ? svg_words(kWidth / 2, kHeight / 2, "middle", "no losses were recorded")
                        : drawn(curve, points);
  return svg + "</svg>\n";
}

}  // namespace cairn
