#include "ops/swiglu.h"

#include "ops/check.h"

namespace cairn::ops {

void swiglu_forward(const Exec& exec, ConstView gate, ConstView up, View out) {
  check_float("swiglu_forward", "gate", gate);
  check_float("swiglu_forward", "up", up);
  check_float("swiglu_forward", "out", out);
  check_elements("swiglu_forward", "up", up, gate.elements());
  check_elements("swiglu_forward", "out", out, gate.elements());
  exec.kernels().swiglu_forward(exec.stream, gate, up, out);
}

void swiglu_backward(const Exec& exec, ConstView d_out, ConstView gate, ConstView up, View d_gate,
                     View d_up) {
  check_float("swiglu_backward", "gate", gate);
  check_float("swiglu_backward", "up", up);
  check_elements("swiglu_backward", "up", up, gate.elements());
  const auto check_gradient = [&](std::string_view name, ConstView gradient) {
    check_dtype("swiglu_backward", name, gradient, DType::f32);
    check_elements("swiglu_backward", name, gradient, gate.elements());
  };
  check_gradient("d_out", d_out);
  check_gradient("d_gate", d_gate);
  check_gradient("d_up", d_up);
  exec.kernels().swiglu_backward(exec.stream, d_out, gate, up, d_gate, d_up);
}

}  // namespace cairn::ops
