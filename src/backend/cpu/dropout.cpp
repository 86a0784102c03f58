// Dropout of a low-rank pair's input: what is kept passes through untouched, mask bits are drawn
// from the counter-based stream and never stored.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/dropout.cpp"
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

// One row, whose elements begin at `begin`. Column c is word c % 4 of draw `first` + c / 4.
void drop_row(FloatsIn in, FloatsOut out, int64_t begin, int64_t columns, uint64_t seed,
              uint64_t stream, uint64_t first, uint32_t threshold) {
  // One vector of draws gives four vectors of words.
  uint32_t words[4 * hn::MaxLanes(U32())];
  const auto lanes = static_cast<int64_t>(hn::Lanes(U32()));
  for (int64_t c = 0; c < columns; c += 4 * lanes) {
    philox_words(seed, stream, first + static_cast<uint64_t>(c / 4), words);
    for_each_vector(c, std::min(columns, c + 4 * lanes), [&](int64_t i, auto extent) HWY_ATTR {
      const W32 drawn = hn::LoadU(U32(), words + (i - c));
      const auto kept = hn::Eq(hn::Max(drawn, hn::Set(U32(), threshold)), drawn);
      const V32 value = load(in, begin + i, extent);
      store(hn::IfThenElseZero(hn::RebindMask(F32(), kept), value), out, begin + i, extent);
    });
  }
}

}  // namespace cairn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cairn::cpu {
HWY_EXPORT(drop_row);
}  // namespace cairn::cpu

namespace cairn {

using namespace cpu;

void CpuKernels::dropout(Stream, const Dropout& dropout, ConstView in, View out) {
  const int64_t columns = in.columns();
  const auto* const samples = dropout.samples.as<int32_t>();
  const auto* const positions = dropout.positions.as<int32_t>();
  const auto threshold = static_cast<uint32_t>(std::ldexp(static_cast<double>(dropout.rate), 32));
  for_each_chunk(threads_, in.rows(), rows_per_chunk(columns), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const uint64_t stream = uint64_t{dropout.stream} << 32 | static_cast<uint32_t>(samples[row]);
      const uint64_t first = uint64_t{static_cast<uint32_t>(positions[row])} << 32;
      HWY_DYNAMIC_DISPATCH(drop_row)
      (in, out, row * columns, columns, dropout.seed, stream, first, threshold);
    }
  });
}

}  // namespace cairn
#endif  // HWY_ONCE
