// Drawing the ladder as plain SVG. The colours are those of Okabe and Ito, told apart by
// colour-blind readers, and keep their places in every picture.
#include "report/ladder_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/bytes.h"
#include "report/axis.h"
#include "report/svg.h"

namespace cairn {
namespace {

constexpr double kWidth = 930, kLeft = 136, kRight = 716, kTop = 108;
constexpr double kBar = 30, kStride = 46, kLegend = 58;

// Of a pile, from the bottom up.
constexpr std::array<const char*, kNumPortions> kColours = {
    "#8b95a1", "#c3c9d0", "#0072b2", "#e69f00", "#009e73", "#56b4e9", "#d55e00"};

constexpr const char* kDark = R"(  .budget { stroke: #eef1f4; } .budget-words { fill: #eef1f4; }
  .hatch { stroke: #14181d; } .over { stroke: #eef1f4; }
)";

constexpr const char* kHatch =
    R"(<defs><pattern id="hatch" width="7" height="7" patternUnits="userSpaceOnUse" )"
    R"x(patternTransform="rotate(45)"><path class="hatch" d="M0,0 V7" stroke="#ffffff" )x"
    "stroke-width=\"3\"/></pattern></defs>\n";

constexpr const char* kOver =
    R"x(class="over" fill="url(#hatch)" stroke="#1d232a" stroke-width="1.5")x";

struct Unit {
  const char* name;
  int64_t bytes;
};

// The largest that leaves `most` above one.
Unit unit_for(int64_t most) {
  if (most >= kGiB) return {"GiB", kGiB};
  if (most >= kMiB) return {"MiB", kMiB};
  return {"KiB", kKiB};
}

int64_t needed(const LadderBar& bar) {
  int64_t sum = 0;
  for (const Portion& portion : bar.pile) sum += portion.bytes;
  return sum;
}

// Bytes to pixels, with the axis in a unit of round numbers.
class Scale {
 public:
  explicit Scale(int64_t most)
      : unit_(unit_for(most)),
        axis_(0, static_cast<double>(most) / static_cast<double>(unit_.bytes), 7, false, kLeft,
              kRight) {}

  double pixel(int64_t bytes) const {
    return axis_.pixel(static_cast<double>(bytes) / static_cast<double>(unit_.bytes));
  }
  std::string grid(double bottom) const {
    std::string svg;
    for (double tick : axis_.ticks()) {
      const double at = axis_.pixel(tick);
      svg += fmt::format(
          R"(<path class="grid" d="M{:.1f},{:.1f} V{:.1f}" stroke="#e4e7eb" stroke-width="1"/>)"
          "\n",
          at, kTop - 6, bottom);
      svg += svg_words(at, bottom + 18, "middle", axis_.text(tick));
    }
    return svg + svg_words((kLeft + kRight) / 2, bottom + 38, "middle", unit_.name);
  }

 private:
  Unit unit_;
  Axis axis_;
};

std::string rectangle(double left, double right, double top, std::string_view attributes) {
  return fmt::format(R"(<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{}" {}/>)"
                     "\n",
                     left, top, right - left, kBar, attributes);
}

std::string bar_of(const LadderBar& bar, double top, int64_t budget, const Scale& scale) {
  std::string svg = svg_words(kLeft - 12, top + kBar / 2 + 4, "end", bar.name);
  int64_t below = 0;
  for (size_t i = 0; i < kNumPortions; ++i) {
    const Portion& portion = bar.pile[i];
    if (portion.bytes > 0)
      svg += rectangle(scale.pixel(below), scale.pixel(below + portion.bytes), top,
                       fmt::format(R"(class="portion" fill="{}")", kColours[i]));
    below += portion.bytes;
  }
  if (below > budget) svg += rectangle(scale.pixel(budget), scale.pixel(below), top, kOver);
  return svg + svg_words(kRight + 16, top + kBar / 2 + 4, "start", bar.remark);
}

std::string legend(const Pile& names) {
  std::string svg;
  double x = kLeft;
  for (size_t i = 0; i < kNumPortions; ++i) {
    svg += fmt::format(R"(<rect x="{:.1f}" y="{}" width="12" height="12" fill="{}"/>)"
                       "\n",
                       x, kLegend - 10, kColours[i]);
    svg += svg_words(x + 17, kLegend, "start", names[i].name);
    x += 17 + 6.6 * static_cast<double>(names[i].name.size()) + 16;
  }
  return svg;
}

std::string budget_line(const LadderChart& chart, double bottom, const Scale& scale) {
  const double at = scale.pixel(chart.budget_bytes);
  std::string svg = fmt::format(
      R"(<path class="budget" d="M{:.1f},{} V{:.1f}" stroke="#1d232a" stroke-width="2" )"
      "stroke-dasharray=\"6 3\"/>\n",
      at, kTop - 10, bottom);
  // Words at the edge would run into those above the remarks.
  const bool near_edge = at > kRight - 60;
  svg += fmt::format(
      R"(<text class="budget-words" x="{:.1f}" y="{}" font-size="12" font-weight="600" )"
      R"(fill="#1d232a" text-anchor="{}">budget {}</text>)"
      "\n",
      near_edge ? at + 4 : at, kTop - 16, near_edge ? "end" : "middle",
      format_bytes(chart.budget_bytes));
  return svg;
}

}  // namespace

std::string ladder_chart_svg(const LadderChart& chart) {
  int64_t most = 1;
  for (const LadderBar& bar : chart.bars) most = std::max(most, needed(bar));
  // A budget far beyond every bar is not worth shrinking them for.
  const bool shows_budget = chart.budget_bytes <= 2 * most;
  const Scale scale(shows_budget ? std::max(most, chart.budget_bytes) : most);

  const double bottom = kTop + kStride * static_cast<double>(chart.bars.size());
  std::string svg = svg_head(kWidth, bottom + 56, 24, chart.title, kDark) + kHatch;
  if (!chart.bars.empty()) svg += legend(chart.bars.front().pile);
  svg += scale.grid(bottom);
  svg += svg_words(kRight + 16, kTop - 16, "start", chart.remarks_title);
  double top = kTop + (kStride - kBar) / 2;
  for (const LadderBar& bar : chart.bars) {
    svg += bar_of(bar, top, chart.budget_bytes, scale);
    top += kStride;
  }
  if (shows_budget)
    svg += budget_line(chart, bottom, scale);
  else
    svg += svg_words(kRight, bottom + 38, "end",
                     fmt::format("budget {}: all fit", format_bytes(chart.budget_bytes)));
  return svg + "</svg>\n";
}

}  // namespace cairn
