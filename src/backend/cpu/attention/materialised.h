// Attention with its matrix of probabilities, as eager frameworks compute it: what FlashAttention
// is measured against, and no slower than it must be. Every head's whole square is computed and
// kept, by the product kernels of the gemm door. Bits depend neither on the number of threads nor
// on which segments share the call.
#pragma once

#include "backend/kernels.h"

namespace cairn::cpu {

// Bytes of the scratch below; it wants the alignment of a buffer.
int64_t attention_materialised_scratch_bytes(int threads, int64_t longest_segment);

// out [tokens, heads, head_dim] and probabilities [tokens, heads, longest_segment], f32 or bf16; a
// row of probabilities ends with its segment, what follows is left alone. A query that sees no key
// gets out = 0.
void attention_materialised_forward(const Attention&, View out, View probabilities, int threads,
                                    std::byte* scratch);

// d_out f32 as out; d_q, d_k, d_v f32 are overwritten.
void attention_materialised_backward(const Attention&, ConstView probabilities, ConstView d_out,
                                     View d_q, View d_k, View d_v, int threads, std::byte* scratch);

}  // namespace cairn::cpu
