// Rotary position embedding (Su et al., 2021), in the half-split layout of Llama.
#pragma once

#include "ops/exec.h"

namespace cairn::ops {

// positions [tokens] i32, table [positions, rotary / 2, 2] f32 (cos, sin), inout
// [tokens, heads, head_dim] f32 or bf16, of which the first `rotary` of a head turn. `inverse`
// turns back: that is the backward, even if cos and sin are scaled.
void rope(const Exec& exec, ConstView positions, ConstView table, bool inverse, View inout);

}  // namespace cairn::ops
