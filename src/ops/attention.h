// Exact causal attention over packed segments, tiled without a matrix of scores, or with every
// head's matrix of probabilities kept. Takes the scratch of all threads for the length of the call.
#pragma once

#include "ops/exec.h"

namespace cairn::ops {

// out [tokens, heads, head_dim] f32 or bf16; log_sum_exp [tokens, heads] f32.
void attention_forward(const Exec& exec, const Attention& attention, View out, View log_sum_exp);
// d_out [tokens, heads, head_dim] f32; d_q, d_k, d_v f32 of the shapes of q, k, v are overwritten.
// delta [tokens, heads] f32 is the caller's scratch: it grows with tokens, so it is taken at
// capacity.
void attention_backward(const Exec& exec, const Attention& attention, ConstView out,
                        ConstView log_sum_exp, ConstView d_out, View delta, View d_q, View d_k,
                        View d_v);

// The same; probabilities [tokens, heads, longest_segment] f32 or bf16 are all that backward needs
// of it. No segment is longer than `longest_segment`.
void attention_materialised_forward(const Exec& exec, const Attention& attention, View out,
                                    View probabilities);
void attention_materialised_backward(const Exec& exec, const Attention& attention,
                                     ConstView probabilities, ConstView d_out, View d_q, View d_k,
                                     View d_v);

}  // namespace cairn::ops
