// What the gated activations of an MLP share: the checks of their operands.
#pragma once

#include "ops/check.h"

namespace cairn::ops {

inline void check_gate_forward(std::string_view op, ConstView gate, ConstView up, ConstView out) {
  check_float(op, "gate", gate);
  check_float(op, "up", up);
  check_float(op, "out", out);
  check_elements(op, "up", up, gate.elements());
  check_elements(op, "out", out, gate.elements());
}

inline void check_gate_backward(std::string_view op, ConstView d_out, ConstView gate, ConstView up,
                                ConstView d_gate, ConstView d_up) {
  check_float(op, "gate", gate);
  check_float(op, "up", up);
  check_elements(op, "up", up, gate.elements());
  const auto check_gradient = [&](std::string_view name, ConstView gradient) {
    check_dtype(op, name, gradient, DType::f32);
    check_elements(op, name, gradient, gate.elements());
  };
  check_gradient("d_out", d_out);
  check_gradient("d_gate", d_gate);
  check_gradient("d_up", d_up);
}

}  // namespace cairn::ops
