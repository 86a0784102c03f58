// Dropout of rows keyed by sample and position; the maths is on the page backend/kernels.h.
#pragma once

#include "ops/exec.h"

namespace cairn::ops {

// in, out [rows, columns], each f32 or bf16; out may be in itself.
void dropout(const Exec& exec, const Dropout& dropout, ConstView in, View out);

}  // namespace cairn::ops
