// Rotary embedding: pairs (i, i + rotary / 2) of every head turn by the angle of their position.
// Cosines and sines are taken apart once a token, then serve all its heads.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/rope.cpp"
#include "backend/cpu/simd_targets.h"
// The targets come first.
#include "hwy/foreach_target.h"
// Then what is compiled for each of them.
#include "backend/cpu/cpu_kernels.h"
#include "backend/cpu/floats-inl.h"
#include "backend/cpu/parallel.h"

HWY_BEFORE_NAMESPACE();
namespace cairn::cpu::HWY_NAMESPACE {

constexpr int64_t kAngles = 64;  // pairs turned at a time

void turn_tokens(const int32_t* positions, const float* table, int64_t rotary, float direction,
                 FloatsOut inout, int64_t heads, int64_t head_dim, int64_t begin, int64_t end) {
  const int64_t half = rotary / 2;
  float cosine[kAngles], sine[kAngles];
  const FloatsIn before(inout), cosines(cosine), sines(sine);
  for (int64_t token = begin; token < end; ++token) {
    const float* const angles = table + positions[token] * rotary;
    for (int64_t from = 0; from < half; from += kAngles) {
      const int64_t count = std::min(kAngles, half - from);
      for (int64_t i = 0; i < count; ++i) {
        cosine[i] = angles[2 * (from + i)];
        sine[i] = direction * angles[2 * (from + i) + 1];
      }
      for (int64_t head = 0; head < heads; ++head) {
        const int64_t first = (token * heads + head) * head_dim + from, second = first + half;
        for_each_vector(0, count, [&](int64_t i, auto extent) HWY_ATTR {
          const V32 c = load(cosines, i, extent), s = load(sines, i, extent);
          const V32 x = load(before, first + i, extent), y = load(before, second + i, extent);
          store(hn::NegMulAdd(y, s, hn::Mul(x, c)), inout, first + i, extent);
          store(hn::MulAdd(x, s, hn::Mul(y, c)), inout, second + i, extent);
        });
      }
    }
  }
}

}  // namespace cairn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cairn::cpu {
HWY_EXPORT(turn_tokens);
}  // namespace cairn::cpu

namespace cairn {

using namespace cpu;

void CpuKernels::rope(Stream, ConstView positions, ConstView table, bool inverse, View inout) {
  const int64_t heads = inout.shape()[1], head_dim = inout.shape()[2];
  for_each_chunk(threads_, inout.rows(), rows_per_chunk(heads * head_dim),
                 [&](int64_t begin, int64_t end) {
                   HWY_DYNAMIC_DISPATCH(turn_tokens)
                   (positions.as<int32_t>(), table.as<float>(), table.columns(),
                    inverse ? -1.0f : 1.0f, inout, heads, head_dim, begin, end);
                 });
}

}  // namespace cairn
#endif  // HWY_ONCE
