// States in 8 bits: a code of a dynamic map for each element, a scale for each block of 256
// (Dettmers and others, 2022).
#pragma once

#include "ops/exec.h"

namespace cairn::ops {

// Checks shapes and dtypes for `elements` values.
void check_block_codes(std::string_view op, std::string_view name, const BlockCodes& codes,
                       int64_t elements);
// in [n] f32; by the signed map, or the unsigned one for values that are never negative.
void encode_blocks(const Exec& exec, bool is_signed, ConstView in, const BlockCodes& out);
void decode_blocks(const Exec& exec, bool is_signed, const BlockCodes& in, View out);

}  // namespace cairn::ops
