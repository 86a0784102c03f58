// Cross-entropy of rows of logits and its derivative, in any scalar. An error of a logit's distance
// to the largest is one of its exponential, so that distance weighs in the magnitudes. Logits that
// went through a softcap have its slope, 1 - (logit / cap)^2, in their gradient.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <vector>

#include "reference/bounded.h"

namespace cairn::reference {

template <typename T>
struct CrossEntropyResult {
  Bounded<T> row_loss, d_logits;
};

template <typename T>
CrossEntropyResult<T> cross_entropy(const std::vector<T>& logits, const std::vector<double>& labels,
                                    double scale, double softcap = 0) {
  const auto rows = static_cast<int64_t>(labels.size());
  const int64_t vocab = rows == 0 ? 0 : static_cast<int64_t>(logits.size()) / rows;
  CrossEntropyResult<T> result{Bounded<T>(rows), Bounded<T>(rows * vocab)};
  for (int64_t row = 0; row < rows; ++row) {
    const T* const x = logits.data() + row * vocab;
    const auto label = static_cast<int64_t>(labels[row]);
    double largest = -std::numeric_limits<double>::infinity(), distance = 0;
    for (int64_t i = 0; i < vocab; ++i) largest = std::max(largest, std::real(x[i]));
    T sum = 0;
    for (int64_t i = 0; i < vocab; ++i) {
      sum += std::exp(x[i] - largest);
      distance += std::abs(std::exp(x[i] - largest)) * std::abs(x[i] - largest);
    }
    const double sensitivity = 1 + distance / std::abs(sum);
    result.row_loss.add(
        row, std::log(sum) + largest - x[label],
        sensitivity + std::abs(std::log(sum)) + std::abs(largest) + std::abs(x[label]));
    for (int64_t i = 0; i < vocab; ++i) {
      const T slope = softcap > 0 ? 1.0 - x[i] / softcap * x[i] / softcap : T(1);
      const T term = slope * scale * std::exp(x[i] - largest) / sum;
      const T hit = i == label ? slope * scale : T(0);
      // The slope is a difference from 1; so is a logit's distance to the log of the sum.
      const double full = std::abs(scale * std::exp(x[i] - largest) / sum);
      const double blur = softcap > 0 ? 2 * full + (i == label ? 2 * scale : 0) +
                                            full * (std::abs(x[i]) + std::abs(largest))
                                      : 0;
      result.d_logits.add(
          row * vocab + i, term - hit,
          std::abs(term) * (sensitivity + std::abs(x[i] - largest)) + std::abs(hit) + blur);
    }
  }
  return result;
}

}  // namespace cairn::reference
