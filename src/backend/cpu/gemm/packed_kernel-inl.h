// The register tile and its epilogue. A tile is kRows x (kVectors vectors) of sums over one panel's
// depth, one chain of multiply-adds an element; the epilogue adds what the sum starts from and
// rounds once. Compiled once per instruction set.
#if defined(CAIRN_GEMM_KERNEL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CAIRN_GEMM_KERNEL_INL_H_
#undef CAIRN_GEMM_KERNEL_INL_H_
#else
#define CAIRN_GEMM_KERNEL_INL_H_
#endif

#include "backend/cpu/gemm/packed_job.h"
#include "backend/cpu/gemm/packed_pack-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace cairn::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// 8 x 48 on 512-bit vectors (24 sums, 3 of b, 1 of a), 4 x 24 on 256; 4 x 3 without any.
constexpr hn::ScalableTag<float> kVector;
constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(kVector));
constexpr int64_t kStripHeight = kLanes == 16 ? 8 : 4;
constexpr int64_t kPanelWidth = 3 * kLanes;
static_assert(kStripHeight <= kMaxStripHeight && kPanelWidth <= kMaxPanelWidth);
static_assert(kRowBlock % kStripHeight == 0 && kColumnBlock % kPanelWidth == 0 &&
              kDepthBlock % kStripHeight == 0);

// tile[row][column] = sum over k of strip[k][row] * panel[k][column]; `resume` goes on with the
// chain of multiply-adds that tile holds.
template <int kRows, int kVectors>
HWY_INLINE void multiply(const float* HWY_RESTRICT strip, const float* HWY_RESTRICT panel,
                         int64_t depth, bool resume, float* HWY_RESTRICT tile) {
  hn::Vec<decltype(kVector)> sums[kRows][kVectors];
#pragma GCC unroll 8
  for (int row = 0; row < kRows; ++row)
#pragma GCC unroll 3
    for (int v = 0; v < kVectors; ++v)
      sums[row][v] =
          resume ? hn::Load(kVector, tile + row * kPanelWidth + v * kLanes) : hn::Zero(kVector);
#pragma GCC unroll 2
  for (int64_t k = 0; k < depth; ++k) {
    hn::Vec<decltype(kVector)> b[kVectors];
#pragma GCC unroll 3
    for (int v = 0; v < kVectors; ++v) b[v] = hn::Load(kVector, panel + v * kLanes);
#pragma GCC unroll 8
    for (int row = 0; row < kRows; ++row) {
      const auto a = hn::Set(kVector, strip[row]);
#pragma GCC unroll 3
      for (int v = 0; v < kVectors; ++v) sums[row][v] = hn::MulAdd(a, b[v], sums[row][v]);
    }
    panel += kPanelWidth;
    strip += kStripHeight;
  }
#pragma GCC unroll 8
  for (int row = 0; row < kRows; ++row)
#pragma GCC unroll 3
    for (int v = 0; v < kVectors; ++v)
      hn::Store(sums[row][v], kVector, tile + row * kPanelWidth + v * kLanes);
}

template <int kRows>
HWY_NOINLINE void multiply_wide(const float* strip, const float* panel, int64_t depth,
                                int64_t columns, bool resume, float* tile) {
  if (columns > 2 * kLanes)
    multiply<kRows, 3>(strip, panel, depth, resume, tile);
  else if (columns > kLanes)
    multiply<kRows, 2>(strip, panel, depth, resume, tile);
  else
    multiply<kRows, 1>(strip, panel, depth, resume, tile);
}

// Rows and columns beyond the matrix are computed from the zeros of the packing, or not at all.
HWY_INLINE void multiply_any(const float* strip, const float* panel, int64_t depth, int64_t rows,
                             int64_t columns, bool resume, float* tile) {
  if (rows > 4)
    multiply_wide<static_cast<int>(kStripHeight)>(strip, panel, depth, columns, resume, tile);
  else if (rows > 2)
    multiply_wide<4>(strip, panel, depth, columns, resume, tile);
  else if (rows == 2)
    multiply_wide<2>(strip, panel, depth, columns, resume, tile);
  else
    multiply_wide<1>(strip, panel, depth, columns, resume, tile);
}

// --- epilogue ---
template <class V>
HWY_INLINE void store_rounded(V value, float* to) {
  hn::StoreU(value, kVector, to);
}
// To nearest even; a NaN keeps its sign and upper bits and stays quiet, as to_bf16 in numeric/.
template <class V>
HWY_INLINE void store_rounded(V value, uint16_t* to) {
  const hn::RebindToUnsigned<decltype(kVector)> d;
  const hn::Rebind<uint16_t, decltype(d)> narrow;
  const auto bits = hn::BitCast(d, value);
  const auto high = hn::ShiftRight<16>(bits);
  const auto odd = hn::And(high, hn::Set(d, 1u));
  const auto nearest = hn::ShiftRight<16>(hn::Add(bits, hn::Add(odd, hn::Set(d, 0x7fffu))));
  const auto quiet = hn::Or(high, hn::Set(d, 0x40u));
  const auto is_nan = hn::RebindMask(d, hn::Ne(value, value));
  const hn::RebindToSigned<decltype(d)> as_signed;
  hn::StoreU(hn::DemoteTo(narrow, hn::BitCast(as_signed, hn::IfThenElse(is_nan, quiet, nearest))),
             narrow, to);
}

// One vector of `base` or nothing, plus alpha times the sums.
template <typename Base, typename Out>
HWY_INLINE void finish_vector(const float* sums, float alpha, const Base* base, Out* out) {
  const auto scale = hn::Set(kVector, alpha);
  const auto sum = hn::LoadU(kVector, sums);
  if (base)
    store_rounded(hn::MulAdd(scale, sum, load_wide(kVector, base)), out);
  else
    store_rounded(hn::Mul(scale, sum), out);
}

// `count` <= lanes elements that lie `step` apart, or end a row.
template <typename Base, typename Out>
void finish_scattered(const float* sums, int64_t count, float alpha, const Base* base,
                      int64_t base_step, Out* out, int64_t out_step) {
  Base bases[kLanes] = {};
  Out outs[kLanes];
  if (base)
    for (int64_t i = 0; i < count; ++i) bases[i] = base[i * base_step];
  finish_vector(sums, alpha, base ? bases : nullptr, outs);
  for (int64_t i = 0; i < count; ++i) out[i * out_step] = outs[i];
}

template <typename Base, typename Out>
void finish_tile(const float* tile, int64_t rows, int64_t columns, float alpha, const Plane& base,
                 const Plane& out) {
  const bool rows_lie_dense = out.step == 1 && base.step == 1;
  for (int64_t row = 0; row < rows; ++row) {
    const float* sums = tile + row * kPanelWidth;
    const Base* from = reinterpret_cast<const Base*>(base.data);
    if (from) from += row * base.stride;
    Out* to = reinterpret_cast<Out*>(out.data) + row * out.stride;
    for (int64_t column = 0; column < columns; column += kLanes) {
      const int64_t count = HWY_MIN(kLanes, columns - column);
      const Base* start = from ? from + column * base.step : nullptr;
      if (rows_lie_dense && count == kLanes)
        finish_vector(sums + column, alpha, start, to + column);
      else
        finish_scattered(sums + column, count, alpha, start, base.step, to + column * out.step,
                         out.step);
    }
  }
}

// out = base (if any) + alpha * tile.
HWY_INLINE void finish(const float* tile, int64_t rows, int64_t columns, float alpha,
                       const Plane& base, const Plane& out) {
  if (out.bf16) {
    if (base.bf16)
      finish_tile<uint16_t, uint16_t>(tile, rows, columns, alpha, base, out);
    else
      finish_tile<float, uint16_t>(tile, rows, columns, alpha, base, out);
  } else {
    if (base.bf16)
      finish_tile<uint16_t, float>(tile, rows, columns, alpha, base, out);
    else
      finish_tile<float, float>(tile, rows, columns, alpha, base, out);
  }
}

}  // namespace cairn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
