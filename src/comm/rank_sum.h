// Adding what ranks give, in the order of ranks: the one place where the sums of all transports are
// made, so that they have the same bits.
#pragma once

#include <span>

#include "memory/view.h"

namespace cairn {

// Elements that are added at a time, and the room that a rank's take in a scratch.
inline constexpr int64_t kSumChunk = 64 * 1024;
inline constexpr int64_t kSumChunkBytes = kSumChunk * 8;

// out (or, accumulating, out +) = terms[0] + terms[1] + ...; all [n] of one type. One of the terms
// may be `out` itself.
void sum_in_rank_order(std::span<const ConstView> terms, bool accumulates, View out);

}  // namespace cairn
