// One AdamW update of one parameter (Loshchilov and Hutter, 2019): with moments in f32 or bf16 in
// PyTorch's order of operations, with moments in 8 bits in that of bitsandbytes.
#pragma once

#include "ops/exec.h"

namespace cairn::ops {

// gradient and weight f32 or bf16; master f32 or empty; m and v f32 or bf16; all of one size.
void adamw(const Exec& exec, const AdamW& settings, ConstView gradient, View weight, View master,
           View m, View v);
// The same with moments in blocks of 8 bits.
void adamw_8bit(const Exec& exec, const AdamW& settings, ConstView gradient, View weight,
                View master, const BlockCodes& m, const BlockCodes& v);

}  // namespace cairn::ops
