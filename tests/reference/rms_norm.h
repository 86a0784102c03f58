// RMS norm and its derivative, row by row, in any scalar. Magnitudes are the same sums over
// absolute values. Weights count as weight + offset.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "reference/bounded.h"

namespace cairn::reference {

template <typename T>
struct RmsNormResult {
  Bounded<T> y, rstd;
};

template <typename T>
RmsNormResult<T> rms_norm_forward(const std::vector<T>& x, const std::vector<T>& weight,
                                  double epsilon, double offset = 0) {
  const auto hidden = static_cast<int64_t>(weight.size());
  const int64_t rows = static_cast<int64_t>(x.size()) / hidden;
  RmsNormResult<T> result{Bounded<T>(rows * hidden), Bounded<T>(rows)};
  for (int64_t row = 0; row < rows; ++row) {
    T squares = 0;
    for (int64_t i = 0; i < hidden; ++i) squares += x[row * hidden + i] * x[row * hidden + i];
    const T rstd = 1.0 / std::sqrt(squares / static_cast<double>(hidden) + epsilon);
    result.rstd.add(row, rstd, std::abs(rstd));
    for (int64_t i = 0; i < hidden; ++i) {
      const T y = (weight[i] + offset) * (x[row * hidden + i] * rstd);
      const double spread = (std::abs(weight[i]) + offset) * std::abs(x[row * hidden + i] * rstd);
      result.y.add(row * hidden + i, y, spread);
    }
  }
  return result;
}

template <typename T>
struct RmsNormGradients {
  Bounded<T> d_x, d_weight;  // what is added to what was there
};

template <typename T>
RmsNormGradients<T> rms_norm_backward(const std::vector<T>& d_y, const std::vector<T>& x,
                                      const std::vector<T>& weight, const std::vector<T>& rstd,
                                      double offset = 0) {
  const auto hidden = static_cast<int64_t>(weight.size());
  const auto rows = static_cast<int64_t>(rstd.size());
  RmsNormGradients<T> g{Bounded<T>(rows * hidden), Bounded<T>(hidden)};
  for (int64_t row = 0; row < rows; ++row) {
    T mean = 0;
    double mean_magnitude = 0;
    for (int64_t i = 0; i < hidden; ++i) {
      const int64_t at = row * hidden + i;
      const T normal = x[at] * rstd[row];
      const T outer = d_y[at] * normal / static_cast<double>(hidden);
      mean += (weight[i] + offset) * outer;
      mean_magnitude += (std::abs(weight[i]) + offset) * std::abs(outer);
      g.d_weight.add(i, d_y[at] * normal, std::abs(d_y[at] * normal));
    }
    for (int64_t i = 0; i < hidden; ++i) {
      const int64_t at = row * hidden + i;
      const T normal = x[at] * rstd[row], weighted = (weight[i] + offset) * d_y[at];
      const double spread = (std::abs(weight[i]) + offset) * std::abs(d_y[at]);
      g.d_x.add(at, rstd[row] * (weighted - normal * mean),
                std::abs(rstd[row]) * (spread + std::abs(normal) * mean_magnitude));
    }
  }
  return g;
}

}  // namespace cairn::reference
