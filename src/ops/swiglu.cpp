#include "ops/swiglu.h"

#include "ops/check_gate.h"

namespace cairn::ops {

void swiglu_forward(const Exec& exec, ConstView gate, ConstView up, View out) {
  check_gate_forward("swiglu_forward", gate, up, out);
  exec.kernels().swiglu_forward(exec.stream, gate, up, out);
}

void swiglu_backward(const Exec& exec, ConstView d_out, ConstView gate, ConstView up, View d_gate,
                     View d_up) {
  check_gate_backward("swiglu_backward", d_out, gate, up, d_gate, d_up);
  exec.kernels().swiglu_backward(exec.stream, d_out, gate, up, d_gate, d_up);
}

}  // namespace cairn::ops
