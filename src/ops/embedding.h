// The embedding table: rows looked up by token, and gradients added back to them.
#pragma once

#include "ops/exec.h"

namespace cairn::ops {

// ids [tokens] i32, table [vocab, hidden], out [tokens, hidden]; table and out f32 or bf16. Rows
// are multiplied by `scale`.
void embedding_forward(const Exec& exec, ConstView ids, ConstView table, View out, float scale = 1);
// d_table[ids[t]] += scale * d_out[t]; d_out [tokens, hidden] f32, d_table [vocab, hidden] f32 or
// bf16, whose rows are rounded once. Scratch is charged for `capacity` tokens, or for those of ids.
void embedding_backward(const Exec& exec, ConstView ids, ConstView d_out, View d_table,
                        float scale = 1, int64_t capacity = 0);

}  // namespace cairn::ops
