#include "ops/geglu.h"

#include "ops/check_gate.h"

namespace cairn::ops {

void geglu_forward(const Exec& exec, ConstView gate, ConstView up, View out) {
  check_gate_forward("geglu_forward", gate, up, out);
  exec.kernels().geglu_forward(exec.stream, gate, up, out);
}

void geglu_backward(const Exec& exec, ConstView d_out, ConstView gate, ConstView up, View d_gate,
                    View d_up) {
  check_gate_backward("geglu_backward", d_out, gate, up, d_gate, d_up);
  exec.kernels().geglu_backward(exec.stream, d_out, gate, up, d_gate, d_up);
}

}  // namespace cairn::ops
