// The gate of Gemma's MLP: gelu(gate) * up (Shazeer, 2020), gelu in its tanh form.
#pragma once

#include "ops/exec.h"

namespace cairn::ops {

// gate, up, out of one shape, each f32 or bf16. out may be gate's or up's own storage.
void geglu_forward(const Exec& exec, ConstView gate, ConstView up, View out);
// d_out, d_gate, d_up f32; gate, up f32 or bf16. d_up may be d_out's own storage.
void geglu_backward(const Exec& exec, ConstView d_out, ConstView gate, ConstView up, View d_gate,
                    View d_up);

}  // namespace cairn::ops
