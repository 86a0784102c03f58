#include "model/sampling.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace cairn {

int32_t sample_token(std::span<float> logits, const SamplingSpec& spec, const Random& random,
                     uint64_t draw) {
  if (spec.vocabulary > 0)
    logits = logits.first(std::min(logits.size(), static_cast<size_t>(spec.vocabulary)));
  const auto likeliest = std::max_element(logits.begin(), logits.end());
  if (spec.greedy || spec.temperature <= 0) return static_cast<int32_t>(likeliest - logits.begin());

  std::vector<int32_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  const auto wanted =
      spec.top_k > 0 ? std::min(logits.size(), static_cast<size_t>(spec.top_k)) : logits.size();
  const auto before = [&](int32_t a, int32_t b) {
    const float x = logits[static_cast<size_t>(a)], y = logits[static_cast<size_t>(b)];
    return x != y ? x > y : a < b;
  };
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(wanted), order.end(),
                    before);
  order.resize(wanted);

  std::vector<double> weights;
  const double highest = logits[static_cast<size_t>(order[0])];
  for (int32_t id : order)
    weights.push_back(std::exp((static_cast<double>(logits[static_cast<size_t>(id)]) - highest) /
                               spec.temperature));
  const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
  double kept = 0;
  size_t count = 0;
  while (count < weights.size() && (count == 0 || kept < spec.top_p * all))
    kept += weights[count++];

  double point = static_cast<double>(random.uniform(draw)) * kept;
  for (size_t i = 0; i + 1 < count; ++i) {
    if (point < weights[i]) return order[i];
    point -= weights[i];
  }
  return order[count - 1];
}

}  // namespace cairn
