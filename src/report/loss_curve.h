// The loss of a run as an SVG picture that stands alone: raw and smoothed training loss, evaluation
// loss if there is any, readable on a light and on a dark page.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
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

// The losses of a run of any length in bounded memory: from kMost points on, of each group of
// neighbours the least and the greatest are kept, so that the width of the noise stays true. Groups
// double as the run goes on, and every part of it keeps the same share of points.
class LossSeries {
 public:
  static constexpr size_t kMost = 16384;

  // What it holds between two points, for a run that goes on elsewhere.
  struct State {
    std::vector<LossPoint> points;
    LossPoint low, high;  // of the open group
    int64_t in_group = 0;
    int64_t group = 1;  // steps
  };

  LossSeries() = default;
  explicit LossSeries(State state) : state_(std::move(state)) {}
  const State& state() const { return state_; }

  // Steps ascending.
  void add(LossPoint point);
  std::vector<LossPoint> points() const;

 private:
  void append_group(std::vector<LossPoint>& points) const;

  State state_;
};

// Losses that are not finite leave a gap. Without any point the picture says so.
std::string loss_curve_svg(const LossCurve& curve);

// Exponential moving average without the pull of its start; longer runs are smoothed more.
std::vector<LossPoint> smoothed(const std::vector<LossPoint>& points);

}  // namespace cairn
