// GeGLU with GELU's tanh form, its derivative, and the softcap, element by element, in any scalar.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

#include "reference/bounded.h"

namespace cairn::reference {

// sqrt(2 / pi) * (x + 0.044715 x^3)
template <typename T>
T gelu_argument(T x) {
  return std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
}

template <typename T>
T gelu(T x) {
  return 0.5 * x * (1.0 + std::tanh(gelu_argument(x)));
}

template <typename T>
T gelu_slope(T x) {
  const T t = std::tanh(gelu_argument(x));
  return 0.5 * (1.0 + t) +
         0.5 * x * (1.0 - t * t) * std::sqrt(2 / std::numbers::pi) * (1.0 + 3 * 0.044715 * x * x);
}

// An error of an exponent is one of its exponential, so the argument weighs in.
template <typename T>
double gelu_sensitivity(T x) {
  return 1 + 4 * std::abs(gelu_argument(x));
}

template <typename T>
Bounded<T> geglu_forward(const std::vector<T>& gate, const std::vector<T>& up) {
  Bounded<T> out(static_cast<int64_t>(gate.size()));
  for (size_t i = 0; i < gate.size(); ++i) {
    const T value = gelu(gate[i]) * up[i];
    // Where tanh is nearly -1, the reference itself has lost what f64 holds of 1 + tanh.
    out.add(static_cast<int64_t>(i), value,
            std::abs(value) * gelu_sensitivity(gate[i]) + 1e-8 * std::abs(gate[i] * up[i]));
  }
  return out;
}

template <typename T>
struct GegluGradients {
  Bounded<T> d_gate, d_up;
};

template <typename T>
GegluGradients<T> geglu_backward(const std::vector<T>& d_out, const std::vector<T>& gate,
                                 const std::vector<T>& up) {
  const auto count = static_cast<int64_t>(gate.size());
  GegluGradients<T> g{Bounded<T>(count), Bounded<T>(count)};
  for (size_t i = 0; i < gate.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    const T d_gate = d_out[i] * up[i] * gelu_slope(gate[i]), d_up = d_out[i] * gelu(gate[i]);
    const double sensitivity = gelu_sensitivity(gate[i]);
    g.d_gate.add(at, d_gate, std::abs(d_out[i] * up[i]) * sensitivity);
    g.d_up.add(at, d_up, std::abs(d_up) * sensitivity + 1e-8 * std::abs(d_out[i] * gate[i]));
  }
  return g;
}

template <typename T>
std::vector<T> softcap(const std::vector<T>& x, double cap) {
  std::vector<T> y;
  for (const T& value : x) y.push_back(cap * std::tanh(value / cap));
  return y;
}

}  // namespace cairn::reference
