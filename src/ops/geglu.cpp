#include "ops/geglu.h"

#include "ops/check.h"

namespace cairn::ops {

void geglu_forward(const Exec& exec, ConstView gate, ConstView up, View out) {
  check_float("geglu_forward", "gate", gate);
  check_float("geglu_forward", "up", up);
  check_float("geglu_forward", "out", out);
  check_elements("geglu_forward", "up", up, gate.elements());
  check_elements("geglu_forward", "out", out, gate.elements());
  exec.kernels().geglu_forward(exec.stream, gate, up, out);
}

void geglu_backward(const Exec& exec, ConstView d_out, ConstView gate, ConstView up, View d_gate,
                    View d_up) {
  check_float("geglu_backward", "gate", gate);
  check_float("geglu_backward", "up", up);
  check_elements("geglu_backward", "up", up, gate.elements());
  const auto check_gradient = [&](std::string_view name, ConstView gradient) {
    check_dtype("geglu_backward", name, gradient, DType::f32);
    check_elements("geglu_backward", name, gradient, gate.elements());
  };
  check_gradient("d_out", d_out);
  check_gradient("d_gate", d_gate);
  check_gradient("d_up", d_up);
  exec.kernels().geglu_backward(exec.stream, d_out, gate, up, d_gate, d_up);
}

}  // namespace cairn::ops
