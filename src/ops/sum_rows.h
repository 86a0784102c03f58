// The gradient of a bias.
#pragma once

#include "ops/exec.h"

namespace cairn::ops {

// out [n] += the sum of the rows of `in` [rows, n]; each f32 or bf16.
void sum_rows(const Exec& exec, ConstView in, View out);

}  // namespace cairn::ops
