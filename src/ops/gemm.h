// The one door of products. Takes the scratch of all threads for the length of the call.
#pragma once

#include "ops/exec.h"

namespace cairn::ops {

// c = alpha * op(a) * op(b) + beta * c + residual + bias, shapes as in Gemm. A fold's `up` is
// [rows of b, rank] and `down` [rank, columns of b], in b's stored coordinates.
void gemm(const Exec& exec, const Gemm& gemm);

}  // namespace cairn::ops
