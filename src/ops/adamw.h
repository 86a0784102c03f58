// One AdamW update of one parameter (Loshchilov and Hutter, 2019), in PyTorch's order of
// operations.
#pragma once

#include "ops/exec.h"

namespace cairn::ops {

// gradient and weight f32 or bf16; master f32 or empty; m and v f32 or bf16; all of one size.
void adamw(const Exec& exec, const AdamW& settings, ConstView gradient, View weight, View master,
           View m, View v);

}  // namespace cairn::ops
