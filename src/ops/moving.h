// Ops that move, fill and convert storage. Each checks its arguments and calls the kernel of the
// same name; the maths is on the page backend/kernels.h.
#pragma once

#include "ops/exec.h"

namespace cairn::ops {

void fill_zero(const Exec& exec, View out);
// out is f32 or bf16.
void fill_random(const Exec& exec, const RandomFill& fill, View out);
// Same number of elements; f32, bf16 or f16 to f32 or bf16, to nearest even.
void convert(const Exec& exec, ConstView in, View out);
// inout += in; each f32 or bf16, the same number of elements.
void add(const Exec& exec, ConstView in, View inout);
// out[i] = in[rows[i]]; rows [out rows] i32, in and out of one dtype (any) and one row size.
void gather_rows(const Exec& exec, ConstView in, ConstView rows, View out);
// out = 0, then out[rows[i]] = in[i]; rows [in rows] i32, distinct.
void scatter_rows(const Exec& exec, ConstView in, ConstView rows, View out);

}  // namespace cairn::ops
