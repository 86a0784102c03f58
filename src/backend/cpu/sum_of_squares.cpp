// The sum of squares: f32 within a block of fixed size, f64 over blocks, in their order. Blocks are
// taken in rounds, so that a constant amount of scratch serves any length.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/sum_of_squares.cpp"
#include "backend/cpu/simd_targets.h"
// The targets come first.
#include "hwy/foreach_target.h"
// Then what is compiled for each of them.
#include "backend/cpu/cpu_kernels.h"
#include "backend/cpu/floats-inl.h"
#include "backend/cpu/parallel.h"

HWY_BEFORE_NAMESPACE();
namespace cairn::cpu::HWY_NAMESPACE {

float squares_of_range(FloatsIn in, int64_t begin, int64_t end) {
  return sum_of(end - begin, [&](int64_t i, auto extent) HWY_ATTR {
    const V32 value = load(in, begin + i, extent);
    return hn::Mul(value, value);
  });
}

}  // namespace cairn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cairn::cpu {
HWY_EXPORT(squares_of_range);
}  // namespace cairn::cpu

namespace cairn {

using namespace cpu;

namespace {
constexpr int64_t kBlock = kElementsPerChunk, kBlocksPerRound = 1024;
}

int64_t CpuKernels::sum_of_squares_scratch_bytes() {
  return kBlocksPerRound * static_cast<int64_t>(sizeof(double));
}

void CpuKernels::sum_of_squares(Stream, ConstView in, View out, View scratch) {
  auto* const partial = scratch.as<double>();
  double sum = 0;
  for (int64_t from = 0; from < in.elements(); from += kBlock * kBlocksPerRound) {
    const int64_t count = std::min(kBlock * kBlocksPerRound, in.elements() - from);
    for_each_chunk(threads_, count, kBlock, [&](int64_t begin, int64_t end) {
      partial[begin / kBlock] =
          HWY_DYNAMIC_DISPATCH(squares_of_range)(in, from + begin, from + end);
    });
    for (int64_t i = 0; i < ceil_div(count, kBlock); ++i) sum += partial[i];
  }
  out.as<double>()[0] = sum;
}

}  // namespace cairn
#endif  // HWY_ONCE
