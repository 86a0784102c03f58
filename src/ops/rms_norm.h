// Root-mean-square normalisation over the last axis (Zhang and Sennrich, 2019).
#pragma once

#include "ops/exec.h"

namespace cairn::ops {

// x, y [tokens, hidden] f32 or bf16; weight [hidden] f32 or bf16; rstd [tokens] f32. The weight
// counts as weight + offset.
void rms_norm_forward(const Exec& exec, ConstView x, ConstView weight, float epsilon, View y,
                      View rstd, float offset = 0);
// d_x += ...; d_y, d_x [tokens, hidden] f32. d_weight [hidden] f32 or bf16 += ... unless it is
// empty. d_x must not be the storage of d_y.
void rms_norm_backward(const Exec& exec, ConstView d_y, ConstView x, ConstView weight,
                       ConstView rstd, View d_x, View d_weight, float offset = 0);

}  // namespace cairn::ops
