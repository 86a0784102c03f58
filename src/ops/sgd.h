// One step of plain SGD of one parameter, as PyTorch's without momentum.
#pragma once

#include "ops/exec.h"

namespace cairn::ops {

// gradient and weight f32 or bf16; master f32 or empty; all of one size.
void sgd(const Exec& exec, const Sgd& settings, ConstView gradient, View weight, View master);

}  // namespace cairn::ops
