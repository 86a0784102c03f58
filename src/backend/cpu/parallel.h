// How CPU kernels share work among threads: fixed chunks of a range, whatever the thread count. A
// kernel whose chunks are independent, or whose partial sums are added in the order of chunks, has
// bits that do not depend on threads.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/bytes.h"

namespace cairn::cpu {

// Elements of one chunk of element-wise work: 64 KiB of f32, which a core's own cache holds.
inline constexpr int64_t kElementsPerChunk = 16384;

// Columns of one chunk of a sum over rows.
inline constexpr int64_t kColumnsPerChunk = 512;

// Rows of one chunk, for rows of that many elements.
inline int64_t rows_per_chunk(int64_t row_elements) {
  return std::max<int64_t>(1, kElementsPerChunk / std::max<int64_t>(1, row_elements));
}

// Calls body(begin, end) for every chunk of [0, count). The body must not throw.
template <typename Body>
void for_each_chunk(int threads, int64_t count, int64_t chunk, const Body& body) {
  const int64_t chunks = ceil_div(count, chunk);
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1 && chunks > 1)
  for (int64_t i = 0; i < chunks; ++i) body(i * chunk, std::min(count, (i + 1) * chunk));
}

}  // namespace cairn::cpu
