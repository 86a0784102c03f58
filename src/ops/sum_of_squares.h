// The square of a norm, in a fixed order of sums: for gradient clipping.
#pragma once

#include "ops/exec.h"

namespace cairn::ops {

// out [1] f64 = sum of the squares of in (f32 or bf16, any shape).
void sum_of_squares(const Exec& exec, ConstView in, View out);

}  // namespace cairn::ops
