// From the elements of a file to f32 or bf16 in memory. Block formats follow ggml (ggml-quants.c);
// the value is formed in f32 and rounded once, to nearest even.
#pragma once

#include <cstddef>
#include <cstdint>

#include "files/file_type.h"
#include "numeric/bfloat16.h"

namespace cairn {

// `elements` from `in`, which begins at a block, to `out`. Whole blocks, save for plain types.
void decode_blocks(FileType type, const std::byte* in, int64_t elements, float* out);
void decode_blocks(FileType type, const std::byte* in, int64_t elements, bf16* out);

}  // namespace cairn
