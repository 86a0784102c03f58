// Random fills. Element i is a pure function of (seed, stream, i), the one that base/random.h
// defines; a normal one within the error of SIMD's logarithm and cosine.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/random_fill.cpp"
#include "backend/cpu/simd_targets.h"
// The targets come first.
#include "hwy/foreach_target.h"
// Then what is compiled for each of them.
#include "backend/cpu/cpu_kernels.h"
#include "backend/cpu/floats-inl.h"
#include "backend/cpu/parallel.h"
#include "backend/cpu/philox-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cairn::cpu::HWY_NAMESPACE {

// [0, 1) with 24 bits.
HWY_INLINE V32 to_uniform(W32 word) {
  const hn::RebindToSigned<F32> integers;
  const V32 whole = hn::ConvertTo(F32(), hn::BitCast(integers, hn::ShiftRight<8>(word)));
  return hn::Mul(whole, hn::Set(F32(), 1.0f / 16777216.0f));
}

// Box-Muller: one normal number of every pair of words.
HWY_INLINE V32 to_normal(W32 first, W32 second) {
  const F32 d;
  const V32 u = hn::Sub(hn::Set(d, 1.0f), to_uniform(first));
  const V32 radius = hn::Sqrt(hn::Mul(hn::Set(d, -2.0f), hn::Log(d, u)));
  return hn::Mul(radius, hn::Cos(d, hn::Mul(hn::Set(d, 6.283185307179586f), to_uniform(second))));
}

// `begin` is a multiple of 16 vectors, so that every vector of draws begins at one of its lanes.
void fill_range(const RandomFill& fill, FloatsOut out, int64_t begin, int64_t end) {
  const F32 d;
  const V32 scale = hn::Set(d, fill.scale);
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  HWY_ALIGN uint32_t words[4 * hn::MaxLanes(U32())];
  // A draw has four words: four uniform numbers, or two normal ones.
  const int64_t per_draw = fill.normal ? 2 : 4;
  for (int64_t i = begin; i < end; i += per_draw * lanes) {
    philox_words(fill.seed, fill.stream, static_cast<uint64_t>((fill.first + i) / per_draw), words);
    for_each_vector(i, std::min(end, i + per_draw * lanes), [&](int64_t j, auto extent) HWY_ATTR {
      V32 value;
      if (fill.normal) {
        W32 first, second;
        hn::LoadInterleaved2(U32(), words + 2 * (j - i), first, second);
        value = to_normal(first, second);
      } else {
        const V32 uniform = to_uniform(hn::Load(U32(), words + (j - i)));
        value = hn::Sub(hn::Add(uniform, uniform), hn::Set(d, 1.0f));
      }
      store(hn::Mul(scale, value), out, j, extent);
    });
  }
}

}  // namespace cairn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cairn::cpu {
HWY_EXPORT(fill_range);
}  // namespace cairn::cpu

namespace cairn {

using namespace cpu;

void CpuKernels::fill_random(Stream, const RandomFill& fill, View out) {
  for_each_chunk(threads_, out.elements(), kElementsPerChunk, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(fill_range)(fill, out, begin, end);
  });
}

}  // namespace cairn
#endif  // HWY_ONCE
