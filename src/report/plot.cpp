#include "report/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/svg.h"

namespace cairn::plot {
namespace {

// More points than pixels only make the file large.
constexpr size_t kMostPoints = 1000;

std::string path_of(const std::vector<LossPoint>& points, const Axes& axes) {
  std::string path;
  bool pen_down = false;
  for (const LossPoint& point : points) {
    const bool finite = std::isfinite(point.loss);
    if (finite)
      path += fmt::format("{}{:.1f},{:.1f}", pen_down ? " L" : " M",
                          axes.x.pixel(static_cast<double>(point.step)), axes.y.pixel(point.loss));
    pen_down = finite;
  }
  return path.empty() ? path : path.substr(1);
}

std::string drawn(const std::string& path, const Stroke& stroke) {
  if (path.empty()) return "";
  return fmt::format(
      R"(<path class="{}" d="{}" fill="none" stroke="{}" stroke-width="{}" stroke-opacity="{}" )"
      "stroke-linejoin=\"round\" stroke-linecap=\"round\"/>\n",
      stroke.name, path, stroke.colour, stroke.width, stroke.opacity);
}

}  // namespace

std::vector<LossPoint> finite_points(const std::vector<LossPoint>& points) {
  std::vector<LossPoint> finite;
  for (const LossPoint& point : points)
    if (std::isfinite(point.loss)) finite.push_back(point);
  return finite;
}

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

std::string last_loss(const std::vector<LossPoint>& points) {
  for (auto point = points.rbegin(); point != points.rend(); ++point)
    if (std::isfinite(point->loss)) return fmt::format(" {:.3f}", point->loss);
  return "";
}

Axes make_axes(const std::vector<LossPoint>& points) {
  const auto [left, right] =
      std::minmax_element(points.begin(), points.end(),
                          [](const LossPoint& a, const LossPoint& b) { return a.step < b.step; });
  const auto [low, high] =
      std::minmax_element(points.begin(), points.end(),
                          [](const LossPoint& a, const LossPoint& b) { return a.loss < b.loss; });
  return {Axis(static_cast<double>(left->step), static_cast<double>(right->step), 8, true, kLeft,
               kRight),
          Axis(low->loss, high->loss, 5, false, kBottom, kTop)};
}

std::string grid(const Axes& axes) {
  std::string svg;
  for (double tick : axes.y.ticks()) {
    const double at = axes.y.pixel(tick);
    svg +=
        fmt::format(R"(<path class="grid" d="M{},{:.1f} H{}" stroke="#e4e7eb" stroke-width="1"/>)"
                    "\n",
                    kLeft, at, kRight);
    svg += svg_words(kLeft - 10, at + 4, "end", axes.y.text(tick));
  }
  svg += fmt::format(R"(<path class="axis" d="M{},{} H{}" stroke="#8b95a1" stroke-width="1"/>)"
                     "\n",
                     kLeft, kBottom, kRight);
  for (double tick : axes.x.ticks()) {
    const double at = axes.x.pixel(tick);
    svg += fmt::format(R"(<path class="axis" d="M{:.1f},{} v5" stroke="#8b95a1" stroke-width="1"/>)"
                       "\n",
                       at, kBottom);
    svg += svg_words(at, kBottom + 20, "middle", axes.x.text(tick));
  }
  return svg + svg_words((kLeft + kRight) / 2, kHeight - 12, "middle", "step");
}

std::string line(const std::vector<LossPoint>& points, const Stroke& stroke, const Axes& axes) {
  return drawn(path_of(points, axes), stroke);
}

std::string dots(const std::vector<LossPoint>& points, const std::string& name,
                 const std::string& colour, const Axes& axes) {
  std::string svg;
  for (const LossPoint& point : finite_points(points))
    svg += fmt::format(
        R"(<circle class="{}" cx="{:.1f}" cy="{:.1f}" r="4" fill="{}" stroke="#ffffff" )"
        "stroke-width=\"1.5\"/>\n",
        name, axes.x.pixel(static_cast<double>(point.step)), axes.y.pixel(point.loss), colour);
  return svg;
}

std::string legend_entry(double& x, double y, const Stroke& stroke, const std::string& text) {
  Stroke sample = stroke;
  sample.width = 2.5;
  std::string svg = drawn(fmt::format("M{:.0f},{:.0f} h18", x, y - 4), sample);
  svg += svg_words(x + 25, y, "start", text);
  x += 25 + 6.3 * static_cast<double>(text.size()) + 22;
  return svg;
}

}  // namespace cairn::plot
