// Rotary position embedding (Su et al., 2021), in the half-split layout of Llama.
#pragma once

#include "ops/exec.h"

namespace cairn::ops {

// positions [tokens] i32, table [positions, head_dim / 2, 2] f32 (cos, sin), inout
// [tokens, heads, head_dim] f32 or bf16. `inverse` turns back: that is the backward.
void rope(const Exec& exec, ConstView positions, ConstView table, bool inverse, View inout);

}  // namespace cairn::ops
