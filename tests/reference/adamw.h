// One AdamW update of one element, in PyTorch's order, in double.
#pragma once

#include <cmath>

namespace cairn::reference {

struct AdamWElement {
  double weight, m, v;
};

struct AdamWSettings {
  double learning_rate, beta1, beta2, rest1, rest2, epsilon, weight_decay;  // rest: 1 - beta
  double bias_correction1, bias_correction2, gradient_scale;
};

inline AdamWElement adamw(const AdamWSettings& s, double gradient, AdamWElement e) {
  gradient *= s.gradient_scale;
  e.weight *= 1 - s.learning_rate * s.weight_decay;
  e.m = s.beta1 * e.m + s.rest1 * gradient;
  e.v = s.beta2 * e.v + s.rest2 * gradient * gradient;
  e.weight -= s.learning_rate / s.bias_correction1 * e.m /
              (std::sqrt(e.v) / std::sqrt(s.bias_correction2) + s.epsilon);
  return e;
}

}  // namespace cairn::reference
