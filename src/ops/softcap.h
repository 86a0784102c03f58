// The softcap of logits: cap * tanh(x / cap). Its backward is part of ops/cross_entropy.h.
#pragma once

#include "ops/exec.h"

namespace cairn::ops {

// inout f32 or bf16; cap above 0.
void softcap(const Exec& exec, float cap, View inout);

}  // namespace cairn::ops
