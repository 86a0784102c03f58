// Block quantisation as bitsandbytes' CUDA kernels do it: a value times the inverse of its block's
// absmax, then the thresholds of the code. A block of zeros takes the code of 0, where CUDA's NaN
// would leave a code that the second level turns into a small number.
#include <algorithm>
#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/quantise.cpp"
#include "backend/cpu/simd_targets.h"
// The targets come first.
#include "hwy/foreach_target.h"
// Then what is compiled for each of them.
#include "backend/cpu/cpu_kernels.h"
#include "backend/cpu/floats-inl.h"
#include "backend/cpu/parallel.h"
#include "numeric/nf4.h"

HWY_BEFORE_NAMESPACE();
namespace cairn::cpu::HWY_NAMESPACE {

// The largest magnitude; NaN if one of them is not finite.
HWY_INLINE float absmax_of(const float* from, int64_t count) {
  const F32 d;
  V32 most = hn::Zero(d);
  auto finite = hn::Eq(most, most);
  for_each_vector(0, count, [&](int64_t i, auto extent) HWY_ATTR {
    const V32 magnitude = hn::Abs(load(FloatsIn(from), i, extent));
    finite = hn::And(finite, hn::IsFinite(magnitude));
    most = hn::Max(most, magnitude);
  });
  if (!hn::AllTrue(d, finite)) return std::numeric_limits<float>::quiet_NaN();
  return hn::GetLane(hn::MaxOfLanes(d, most));
}

// Codes of up to a block of values, one a byte.
HWY_INLINE void encode(const float* from, int64_t count, float inverse, uint8_t* codes) {
  const F32 d;
  const hn::RebindToSigned<F32> integers;
  const hn::Rebind<uint8_t, F32> bytes;
  for_each_vector(0, count, [&](int64_t i, auto extent) HWY_ATTR {
    const V32 scaled = hn::Mul(load(FloatsIn(from), i, extent), hn::Set(d, inverse));
    auto code = hn::Zero(integers);
    for (const float threshold : kNf4Thresholds)
      code = hn::Sub(
          code, hn::BitCast(integers, hn::VecFromMask(d, hn::Gt(scaled, hn::Set(d, threshold)))));
    hn::StoreU(hn::DemoteTo(bytes, code), bytes, codes + i);
  });
}

// Blocks [begin, end) of `in`.
void quantise_blocks(ConstView in, int64_t block, int64_t begin, int64_t end, uint8_t* codes,
                     float* absmax) {
  constexpr int64_t kPiece = 32;  // divides every block
  // Room for the whole vector that the last values of a piece are part of.
  uint8_t piece[kPiece + hn::MaxLanes(F32())];
  for (int64_t b = begin; b < end; ++b) {
    const int64_t first = b * block, count = std::min(block, in.elements() - first);
    const float* from = in.as<float>() + first;
    absmax[b] = absmax_of(from, count);
    const float inverse = absmax[b] == 0 ? 0.0f : 1 / absmax[b];
    for (int64_t i = 0; i < count; i += kPiece) {
      const int64_t values = std::min(kPiece, count - i);
      encode(from + i, values, inverse, piece);
      // A missing second code is that of 0.
      if (values % 2 != 0) piece[values] = nf4_code(0.0f);
      for (int64_t pair = 0; 2 * pair < values; ++pair)
        codes[(first + i) / 2 + pair] =
            static_cast<uint8_t>(piece[2 * pair] << 4 | piece[2 * pair + 1]);
    }
  }
}

}  // namespace cairn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cairn::cpu {
HWY_EXPORT(quantise_blocks);

namespace {

// The index of the entry nearest to x in a table in rising order; the lower one of two as near.
uint8_t nearest_entry(const float* table, float x) {
  const float* above = std::lower_bound(table, table + 255, x);
  if (above == table) return 0;
  const float middle = (above[-1] + above[0]) * 0.5f;
  return static_cast<uint8_t>(above - table - (x > middle ? 0 : 1));
}

}  // namespace
}  // namespace cairn::cpu

namespace cairn {

using namespace cpu;

void CpuKernels::quantise_nf4(Stream, ConstView in, int64_t block, View codes, View absmax) {
  const int64_t chunk = std::max<int64_t>(1, kElementsPerChunk / block);
  for_each_chunk(threads_, absmax.elements(), chunk, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(quantise_blocks)
    (in, block, begin, end, codes.as<uint8_t>(), absmax.as<float>());
  });
}

void CpuKernels::nest_absmax(Stream, ConstView absmax, ConstView table, View codes,
                             View nested_absmax, View offset) {
  const auto* from = absmax.as<float>();
  const int64_t count = absmax.elements();
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += from[i];
  const auto mean = static_cast<float>(sum / static_cast<double>(std::max<int64_t>(1, count)));
  *offset.as<float>() = mean;
  for_each_chunk(threads_, count, kNestedBlock, [&](int64_t begin, int64_t end) {
    float most = 0;
    for (int64_t i = begin; i < end; ++i) most = std::max(most, std::abs(from[i] - mean));
    nested_absmax.as<float>()[begin / kNestedBlock] = most;
    const float inverse = most == 0 ? 0.0f : 1 / most;
    for (int64_t i = begin; i < end; ++i)
      codes.as<uint8_t>()[i] = nearest_entry(table.as<float>(), (from[i] - mean) * inverse);
  });
}

}  // namespace cairn
#endif  // HWY_ONCE
