// Drawing the losses of several runs over one another.
#include <fmt/format.h>

#include <array>

#include "report/plot.h"
#include "report/run_record.h"
#include "report/svg.h"

namespace cairn {
namespace {

// Told apart by people who see red and green alike.
struct Colour {
  const char* light;
  const char* dark;
};
constexpr std::array kColours = {Colour{"#1f6feb", "#6cb2ff"}, Colour{"#d9660a", "#ffa45c"},
                                 Colour{"#0a8f6b", "#4fd6ae"}, Colour{"#a13ea8", "#e08be6"},
                                 Colour{"#7a6a00", "#d8c44a"}, Colour{"#5b6470", "#a6b0bc"}};

std::string class_of(size_t run) { return fmt::format("run{}", run % kColours.size()); }

std::string dark_rules() {
  std::string rules;
  for (size_t i = 0; i < kColours.size(); ++i)
    rules += fmt::format("  .{} {{ stroke: {}; }} .{}-dot {{ fill: {}; stroke: #14181d; }}\n",
                         class_of(i), kColours[i].dark, class_of(i), kColours[i].dark);
  return rules;
}

std::string drawn(const std::vector<RunRecord>& runs, const std::vector<LossPoint>& points) {
  const plot::Axes axes = plot::make_axes(points);
  std::string svg = plot::grid(axes);
  double x = plot::kLeft;
  for (size_t i = 0; i < runs.size(); ++i) {
    const RunRecord& run = runs[i];
    const char* colour = kColours[i % kColours.size()].light;
    const plot::Stroke thin{class_of(i), colour, 1.5, 0.45}, thick{class_of(i), colour, 2, 1};
    svg += plot::line(plot::thinned(smoothed(run.training)), thin, axes);
    svg += plot::line(run.evaluation, thick, axes);
    svg += plot::dots(run.evaluation, class_of(i) + "-dot", colour, axes);
    const std::vector<LossPoint>& told = run.evaluation.empty() ? run.training : run.evaluation;
    svg += plot::legend_entry(x, 58, thick, run.name + plot::last_loss(told));
  }
  return svg;
}

}  // namespace

std::string run_comparison_svg(const std::string& title, const std::vector<RunRecord>& runs) {
  std::vector<LossPoint> points;
  for (const RunRecord& run : runs)
    for (const auto& series : {smoothed(run.training), run.evaluation})
      for (const LossPoint& point : plot::finite_points(series)) points.push_back(point);
  std::string svg = svg_head(plot::kWidth, plot::kHeight, plot::kLeft, title, dark_rules());
  svg += points.empty()
             ? svg_words(plot::kWidth / 2, plot::kHeight / 2, "middle", "no losses were recorded")
             : drawn(runs, points);
  return svg + "</svg>\n";
}

}  // namespace cairn
