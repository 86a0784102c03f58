// The loss curve: a picture that stands alone and shows what was recorded, whatever was recorded.
#include <gtest/gtest.h>

#include <cmath>

#include "report/axis.h"
#include "report/loss_curve.h"

namespace cairn {
namespace {

std::vector<LossPoint> falling(int64_t steps) {
  std::vector<LossPoint> points;
  for (int64_t step = 1; step <= steps; ++step)
    points.push_back({step, 1 + std::exp(-static_cast<double>(step)) + 0.1 * std::sin(step)});
  return points;
}

size_t count_of(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(LossCurve, shows_raw_smoothed_and_evaluation_loss) {
  const std::string svg = loss_curve_svg({"saves/run", falling(100), {{50, 1.2}, {100, 1.1}}});
  EXPECT_EQ(svg.substr(0, 4), "<svg");
  EXPECT_NE(svg.find(">saves/run</text>"), std::string::npos);
  for (const char* name : {"class=\"raw\"", "class=\"smooth\"", "class=\"eval\""})
    EXPECT_EQ(count_of(svg, name), 2u) << name;  // the line and its legend
  EXPECT_EQ(count_of(svg, "<circle"), 2u);
  EXPECT_NE(svg.find("prefers-color-scheme: dark"), std::string::npos);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
}

TEST(LossCurve, without_evaluation_there_is_none_in_the_legend) {
  EXPECT_EQ(loss_curve_svg({"t", falling(10), {}}).find("evaluation loss"), std::string::npos);
}

TEST(LossCurve, the_title_is_escaped) {
  const std::string svg = loss_curve_svg({"a<b> & c", falling(3), {}});
  EXPECT_NE(svg.find("a&lt;b&gt; &amp; c"), std::string::npos);
  EXPECT_EQ(svg.find("a<b>"), std::string::npos);
}

TEST(LossCurve, losses_that_are_not_finite_leave_a_gap) {
  std::vector<LossPoint> points = falling(10);
  points[4].loss = std::nan("");
  points[7].loss = INFINITY;
  const std::string svg = loss_curve_svg({"t", points, {}});
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find("inf"), std::string::npos);
  EXPECT_EQ(count_of(svg, "M"),
            3 * 2 + 2 + count_of(svg, "class=\"grid\"") + count_of(svg, "class=\"axis\""));
}

TEST(LossCurve, one_point_and_no_point_are_drawn_too) {
  EXPECT_EQ(count_of(loss_curve_svg({"t", {{1, 2.0}}, {}}), "<circle"), 1u);
  EXPECT_NE(loss_curve_svg({"t", {}, {}}).find("no losses"), std::string::npos);
  EXPECT_NE(loss_curve_svg({"t", {{1, std::nan("")}}, {}}).find("no losses"), std::string::npos);
}

TEST(LossCurve, a_long_run_stays_a_small_file_and_keeps_its_extremes) {
  std::vector<LossPoint> points = falling(100000);
  points[70000].loss = 3;
  const std::string svg = loss_curve_svg({"t", points, {}});
  EXPECT_LT(svg.size(), 100000u);
  EXPECT_NE(svg.find(">3.0</text>"), std::string::npos);
}

TEST(LossSeries, a_short_run_is_kept_whole) {
  LossSeries series;
  for (const LossPoint& point : falling(1000)) series.add(point);
  ASSERT_EQ(series.points().size(), 1000u);
  EXPECT_EQ(series.points().back().step, 1000);
}

TEST(LossSeries, a_long_run_stays_bounded_even_and_keeps_its_extremes_and_gaps) {
  constexpr int64_t kSteps = 1'000'003, kHigh = 123'457, kLow = 777'777, kGap = 500'001;
  LossSeries series;
  for (int64_t step = 1; step <= kSteps; ++step) {
    const double loss = step == kHigh  ? 9
                        : step == kLow ? -9
                        : step == kGap ? std::nan("")
                                       : 1 + 0.1 * std::sin(step);
    series.add({step, loss});
    if (step % 1000 != 0) continue;
    ASSERT_LE(series.points().size(), LossSeries::kMost + 2);
  }
  const std::vector<LossPoint> points = series.points();
  int64_t previous = 0;
  double low = 0, high = 0;
  int64_t gaps = 0;
  for (const LossPoint& point : points) {
    EXPECT_GT(point.step, previous);
    EXPECT_LT(point.step - previous, 8 * kSteps / static_cast<int64_t>(LossSeries::kMost));
    previous = point.step;
    gaps += !std::isfinite(point.loss);
    low = std::fmin(low, point.loss);
    high = std::fmax(high, point.loss);
  }
  EXPECT_EQ(low, -9);
  EXPECT_EQ(high, 9);
  EXPECT_EQ(gaps, 1);
  EXPECT_GT(previous, kSteps - 1000);
}

TEST(LossCurve, smoothing_keeps_a_constant_and_starts_at_the_first_loss) {
  for (const LossPoint& point : smoothed({{1, 2.0}, {2, 2.0}, {3, 2.0}}))
    EXPECT_DOUBLE_EQ(point.loss, 2.0);
  EXPECT_DOUBLE_EQ(smoothed(falling(50))[0].loss, falling(50)[0].loss);
}

TEST(Axis, ticks_are_round_and_within_the_picture) {
  const Axis loss(0.83, 2.27, 5, false, 400, 100);
  EXPECT_EQ(loss.ticks().size(), 5u);
  EXPECT_EQ(loss.text(loss.ticks()[0]), "0.5");
  EXPECT_DOUBLE_EQ(loss.pixel(loss.ticks().front()), 400);
  EXPECT_DOUBLE_EQ(loss.pixel(loss.ticks().back()), 100);
  const Axis steps(1, 12345, 8, true, 0, 700);
  EXPECT_EQ(steps.text(steps.ticks()[0]), "2,000");
  EXPECT_DOUBLE_EQ(steps.pixel(1), 0);
  EXPECT_DOUBLE_EQ(steps.pixel(12345), 700);
  const Axis few(1, 3, 8, true, 0, 700);
  EXPECT_EQ(few.ticks().size(), 3u);
}

}  // namespace
}  // namespace cairn
