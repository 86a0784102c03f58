// Block quantisation of frozen weights, as bitsandbytes does it (4 bits, QLoRA: Dettmers et al.,
// 2023).
#pragma once

#include "ops/exec.h"

namespace cairn::ops {

// in [n] f32 becomes codes [n] u4 and absmax [ceil(n / block)] f32, NaN for a block with a value
// that is not finite. n may end within a block.
void quantise_nf4(const Exec& exec, ConstView in, int64_t block, View codes, View absmax);

// absmax [n] f32 becomes codes [n] u8 of table [256], nested_absmax [ceil(n / 256)] and offset [1]
// f32.
void nest_absmax(const Exec& exec, ConstView absmax, ConstView table, View codes,
                 View nested_absmax, View offset);

// Throws CheckFailed unless the parts of `quant` belong to a u4 tensor of that many elements.
void check_quant_state(std::string_view op, const QuantState& quant, int64_t elements);

}  // namespace cairn::ops
