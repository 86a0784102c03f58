// Exact attention without a score matrix (FlashAttention; Dao et al., 2022): scores live in tiles
// of scratch whose size is a function of the head alone. Bits depend neither on the number of
// threads nor on which segments share the call; a row of the forward pass depends only on the keys
// it sees, so that decoding against a cache repeats the bits of the whole sequence.
#pragma once

#include "backend/kernels.h"

namespace cairn::cpu {

// Bytes of the scratch below; it wants the alignment of a buffer.
int64_t attention_scratch_bytes(int threads, int64_t head_dim, bool backward);

// out [tokens, heads, head_dim] f32 or bf16, log_sum_exp [tokens, heads] f32. A query that sees no
// key gets out = 0 and log_sum_exp = +infinity.
void attention_forward(const Attention&, View out, View log_sum_exp, int threads,
                       std::byte* scratch);

// d_out f32 as out; delta [tokens, heads] f32 receives the row sums of d_out * out; d_q, d_k, d_v
// f32 are overwritten.
void attention_backward(const Attention&, ConstView out, ConstView log_sum_exp, ConstView d_out,
                        View delta, View d_q, View d_k, View d_v, int threads, std::byte* scratch);

}  // namespace cairn::cpu
