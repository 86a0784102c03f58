// What surrounds the products of attention: rows of storage into scratch and back, transposed
// panels, and powers of two. Compiled once per instruction set.
#include "backend/cpu/attention/product-inl.h"
#include "backend/cpu/floats-inl.h"
#include "base/bytes.h"
#include "hwy/highway.h"

#if defined(CAIRN_ATTENTION_TILES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CAIRN_ATTENTION_TILES_INL_H
#undef CAIRN_ATTENTION_TILES_INL_H
#else
#define CAIRN_ATTENTION_TILES_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace cairn::cpu::HWY_NAMESPACE::attention {

inline constexpr float kLog2E = 1.44269504088896341f;
inline constexpr float kLn2 = 0.69314718055994531f;

inline int64_t vectors_of(int64_t head_dim) { return (head_dim + kLanes - 1) / kLanes; }

// 2^x for x up to 127, within 2e-7; 0 below 2^-100, which no f32 sum with a term near 1 would
// notice, and whose products with small gradients would be denormal, and slow.
HWY_INLINE Vector exp2(Vector x) {
  const Floats d;
  const hn::RebindToSigned<Floats> integers;
  const Vector whole = hn::Round(x);
  const Vector f = hn::Sub(x, whole);
  // (2^f - 1) / f at the Chebyshev nodes of [-1/2, 1/2]; the power of f = 0 is exactly 1.
  Vector p = hn::Set(d, 1.545316295e-4f);
  p = hn::MulAdd(p, f, hn::Set(d, 1.339086336e-3f));
  p = hn::MulAdd(p, f, hn::Set(d, 9.618082557e-3f));
  p = hn::MulAdd(p, f, hn::Set(d, 5.550357114e-2f));
  p = hn::MulAdd(p, f, hn::Set(d, 2.402265076e-1f));
  p = hn::MulAdd(p, f, hn::Set(d, 6.931471880e-1f));
  p = hn::MulAdd(p, f, hn::Set(d, 1.0f));
  const auto exponent = hn::ShiftLeft<23>(hn::ConvertTo(integers, whole));
  const Vector power = hn::BitCast(d, hn::Add(hn::BitCast(integers, p), exponent));
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, -100.0f)), power);
}

// Rows of head_dim elements, the first at `from[offset]`, into scratch; padding becomes 0.
HWY_INLINE void load_rows(FloatsIn from, int64_t offset, int64_t from_stride, int64_t rows,
                          int64_t head_dim, float* to, int64_t to_stride) {
  const auto load_all = [&](auto load_vector) HWY_ATTR {
    for (int64_t row = 0; row < rows; ++row) {
      float* HWY_RESTRICT line = to + row * to_stride;
      const int64_t start = offset + row * from_stride;
      int64_t i = 0;
      for (; i + kLanes <= head_dim; i += kLanes)
        hn::Store(load_vector(start + i), Floats(), line + i);
      if (i < head_dim)
        hn::Store(load(from, start + i, Part{static_cast<size_t>(head_dim - i)}), Floats(),
                  line + i);
    }
  };
  if (from.is_bf16)
    load_all([&](int64_t i) HWY_ATTR { return widen(from.as_bf16() + i); });
  else
    load_all([&](int64_t i) HWY_ATTR { return hn::LoadU(Floats(), from.as_f32() + i); });
}

// to (+)= from, `from` in scratch. A call of memcpy costs as much as these few vectors.
template <bool kAdd>
HWY_INLINE void store_row(const float* HWY_RESTRICT from, int64_t count, float* HWY_RESTRICT to) {
  const Floats d;
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const Vector value = hn::Load(d, from + i);
    hn::StoreU(kAdd ? hn::Add(hn::LoadU(d, to + i), value) : value, d, to + i);
  }
  for (; i < count; ++i) to[i] = kAdd ? to[i] + from[i] : from[i];
}

#if HWY_TARGET != HWY_SCALAR
// Four rows of four columns, transposed in registers.
HWY_INLINE void transpose_four(const float* HWY_RESTRICT from, int64_t from_stride, float scale,
                               float* HWY_RESTRICT to, int64_t to_stride) {
  const hn::CappedTag<float, 4> d;
  const auto row = [&](int64_t i) HWY_ATTR {
    return hn::Mul(hn::Load(d, from + i * from_stride), hn::Set(d, scale));
  };
  const auto even = hn::InterleaveLower(d, row(0), row(2)),
             even_high = hn::InterleaveUpper(d, row(0), row(2));
  const auto odd = hn::InterleaveLower(d, row(1), row(3)),
             odd_high = hn::InterleaveUpper(d, row(1), row(3));
  hn::Store(hn::InterleaveLower(d, even, odd), d, to);
  hn::Store(hn::InterleaveUpper(d, even, odd), d, to + to_stride);
  hn::Store(hn::InterleaveLower(d, even_high, odd_high), d, to + 2 * to_stride);
  hn::Store(hn::InterleaveUpper(d, even_high, odd_high), d, to + 3 * to_stride);
}
#endif

// panel[c][row] = scale * rows[row][c]; rows up to a whole vector become 0. Columns up to one are
// written too: a panel of padded_head columns has room.
HWY_INLINE void transpose_panel(const float* rows, int64_t stride, int64_t count, int64_t head_dim,
                                float scale, float* HWY_RESTRICT panel) {
#if HWY_TARGET == HWY_SCALAR
  const int64_t fours = 0;
#else
  const int64_t fours = count / 4 * 4;
  for (int64_t c = 0; c < head_dim; c += 4)
    for (int64_t row = 0; row < fours; row += 4)
      transpose_four(rows + row * stride + c, stride, scale, panel + c * kPanelWidth + row,
                     kPanelWidth);
#endif
  const int64_t padded = round_up(count, kLanes);
  for (int64_t c = 0; c < head_dim && fours < padded; ++c) {
    float* HWY_RESTRICT line = panel + c * kPanelWidth;
    for (int64_t row = fours; row < count; ++row) line[row] = scale * rows[row * stride + c];
    for (int64_t row = count; row < padded; ++row) line[row] = 0;
  }
}

}  // namespace cairn::cpu::HWY_NAMESPACE::attention
HWY_AFTER_NAMESPACE();

#endif  // CAIRN_ATTENTION_TILES_INL_H
