// The sum of rows, the gradient of a bias: added row by row, in order, by the thread that owns the
// columns, so that its bits depend neither on threads nor on how rows were cut into calls.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/sum_rows.cpp"
#include "backend/cpu/simd_targets.h"
// The targets come first.
#include "hwy/foreach_target.h"
// Then what is compiled for each of them.
#include "backend/cpu/cpu_kernels.h"
#include "backend/cpu/floats-inl.h"
#include "backend/cpu/parallel.h"

HWY_BEFORE_NAMESPACE();
namespace cairn::cpu::HWY_NAMESPACE {

// out[i] += the sum over all rows, for columns [begin, end); rounded once.
void sum_columns(FloatsIn in, FloatsOut out, int64_t rows, int64_t columns, int64_t begin,
                 int64_t end) {
  float sums[kColumnsPerChunk];
  const FloatsIn before(sums);
  const FloatsOut after(sums);
  const int64_t count = end - begin;
  for_each_vector(0, count, [&](int64_t i, auto extent) HWY_ATTR {
    store(load(FloatsIn(out), begin + i, extent), after, i, extent);
  });
  for (int64_t row = 0; row < rows; ++row)
    for_each_vector(0, count, [&](int64_t i, auto extent) HWY_ATTR {
      const V32 more = load(in, row * columns + begin + i, extent);
      store(hn::Add(load(before, i, extent), more), after, i, extent);
    });
  for_each_vector(0, count, [&](int64_t i, auto extent) HWY_ATTR {
    store(load(before, i, extent), out, begin + i, extent);
  });
}

}  // namespace cairn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cairn::cpu {
HWY_EXPORT(sum_columns);
}  // namespace cairn::cpu

namespace cairn {

using namespace cpu;

void CpuKernels::sum_rows(Stream, ConstView in, View out) {
  const int64_t rows = in.rows(), columns = in.columns();
  for_each_chunk(threads_, columns, kColumnsPerChunk, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(sum_columns)(in, out, rows, columns, begin, end);
  });
}

}  // namespace cairn
#endif  // HWY_ONCE
