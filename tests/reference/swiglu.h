// SwiGLU and its derivative, element by element, in any scalar.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "reference/bounded.h"

namespace cairn::reference {

template <typename T>
T sigmoid(T x) {
  return 1.0 / (1.0 + std::exp(-x));
}

template <typename T>
Bounded<T> swiglu_forward(const std::vector<T>& gate, const std::vector<T>& up) {
  Bounded<T> out(static_cast<int64_t>(gate.size()));
  for (size_t i = 0; i < gate.size(); ++i) {
    const T value = gate[i] * sigmoid(gate[i]) * up[i];
    out.add(static_cast<int64_t>(i), value, std::abs(value));
  }
  return out;
}

template <typename T>
struct SwigluGradients {
  Bounded<T> d_gate, d_up;
};

template <typename T>
SwigluGradients<T> swiglu_backward(const std::vector<T>& d_out, const std::vector<T>& gate,
                                   const std::vector<T>& up) {
  const auto count = static_cast<int64_t>(gate.size());
  SwigluGradients<T> g{Bounded<T>(count), Bounded<T>(count)};
  for (int64_t i = 0; i < count; ++i) {
    const T s = sigmoid(gate[i]), outer = d_out[i] * up[i] * s;
    g.d_gate.add(i, outer * (1.0 + gate[i] * (1.0 - s)),
                 std::abs(outer) * (1 + std::abs(gate[i] * (1.0 - s)) + std::abs(gate[i] * s)));
    g.d_up.add(i, d_out[i] * gate[i] * s, std::abs(d_out[i] * gate[i] * s));
  }
  return g;
}

}  // namespace cairn::reference
