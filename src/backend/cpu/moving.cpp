// Whole rows and bytes, moved or cleared: no arithmetic.
#include <cstring>

#include "backend/cpu/cpu_kernels.h"
#include "backend/cpu/parallel.h"

namespace cairn {

using namespace cpu;

void CpuKernels::fill_zero(Stream, View out) {
  for_each_chunk(threads_, out.bytes(), 16 * kElementsPerChunk, [&](int64_t begin, int64_t end) {
    std::memset(out.data() + begin, 0, static_cast<size_t>(end - begin));
  });
}

void CpuKernels::gather_rows(Stream, ConstView in, ConstView rows, View out) {
  const int64_t row_bytes = out.columns() * size_of(out.dtype());
  const auto* const from = rows.as<int32_t>();
  for_each_chunk(threads_, out.rows(), rows_per_chunk(out.columns()),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; ++i)
                     std::memcpy(out.data() + i * row_bytes, in.data() + from[i] * row_bytes,
                                 static_cast<size_t>(row_bytes));
                 });
}

void CpuKernels::scatter_rows(Stream stream, ConstView in, ConstView rows, View out) {
  fill_zero(stream, out);
  const int64_t row_bytes = in.columns() * size_of(in.dtype());
  const auto* const to = rows.as<int32_t>();
  for_each_chunk(threads_, in.rows(), rows_per_chunk(in.columns()),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; ++i)
                     std::memcpy(out.data() + to[i] * row_bytes, in.data() + i * row_bytes,
                                 static_cast<size_t>(row_bytes));
                 });
}

}  // namespace cairn
