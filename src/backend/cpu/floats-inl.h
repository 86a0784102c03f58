// SIMD access to floats in storage: vectors of f32 come out, rounding to nearest even goes in.
// Loops hand their body a Whole vector, then the Part that is left, so that the last elements take
// the same arithmetic as the others and nothing is read or written past the end.
#include <cstring>

#include "backend/cpu/floats.h"
#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"

// Compiled once for every target.
#if defined(CAIRN_CPU_FLOATS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CAIRN_CPU_FLOATS_INL_H
#undef CAIRN_CPU_FLOATS_INL_H
#else
#define CAIRN_CPU_FLOATS_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace cairn::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using F32 = hn::ScalableTag<float>;
using V32 = hn::Vec<F32>;

struct Whole {};
struct Part {
  size_t count;
};

// body(i, Whole) for every whole vector of [begin, end), then body(i, Part) for what is left.
template <typename Body>
HWY_INLINE void for_each_vector(int64_t begin, int64_t end, const Body& body) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(F32()));
  int64_t i = begin;
  for (; i + lanes <= end; i += lanes) body(i, Whole{});
  if (i < end) body(i, Part{static_cast<size_t>(end - i)});
}

HWY_INLINE V32 widen(const uint16_t* from) {
  const hn::RebindToUnsigned<F32> words;
  const hn::Rebind<uint16_t, F32> halves;
  return hn::BitCast(F32(), hn::ShiftLeft<16>(hn::PromoteTo(words, hn::LoadU(halves, from))));
}

HWY_INLINE void narrow(V32 value, uint16_t* to) {
  const hn::RebindToUnsigned<F32> words;
  const hn::Rebind<uint16_t, F32> halves;
  const auto bits = hn::BitCast(words, value);
  const auto high = hn::ShiftRight<16>(bits);
  const auto odd = hn::And(high, hn::Set(words, 1u));
  const auto nearest = hn::ShiftRight<16>(hn::Add(bits, hn::Add(odd, hn::Set(words, 0x7fffu))));
  const auto is_nan = hn::RebindMask(words, hn::IsNaN(value));
  const auto quiet = hn::Or(high, hn::Set(words, 0x40u));
  hn::StoreU(hn::TruncateTo(halves, hn::IfThenElse(is_nan, quiet, nearest)), halves, to);
}

HWY_INLINE V32 load(FloatsIn from, int64_t i, Whole) {
  return from.is_bf16 ? widen(from.as_bf16() + i) : hn::LoadU(F32(), from.as_f32() + i);
}

// Missing lanes hold 0.
HWY_INLINE V32 load(FloatsIn from, int64_t i, Part part) {
  if (from.is_bf16) {
    uint16_t buffer[hn::MaxLanes(F32())] = {};
    std::memcpy(buffer, from.as_bf16() + i, part.count * sizeof(uint16_t));
    return widen(buffer);
  }
  float buffer[hn::MaxLanes(F32())] = {};
  std::memcpy(buffer, from.as_f32() + i, part.count * sizeof(float));
  return hn::LoadU(F32(), buffer);
}

HWY_INLINE void store(V32 value, FloatsOut to, int64_t i, Whole) {
  if (to.is_bf16)
    narrow(value, to.as_bf16() + i);
  else
    hn::StoreU(value, F32(), to.as_f32() + i);
}

HWY_INLINE void store(V32 value, FloatsOut to, int64_t i, Part part) {
  if (to.is_bf16) {
    uint16_t buffer[hn::MaxLanes(F32())];
    narrow(value, buffer);
    std::memcpy(to.as_bf16() + i, buffer, part.count * sizeof(uint16_t));
  } else {
    float buffer[hn::MaxLanes(F32())];
    hn::StoreU(value, F32(), buffer);
    std::memcpy(to.as_f32() + i, buffer, part.count * sizeof(float));
  }
}

// The f32 that will be read back from `to`: a consumer reads the stored value.
template <typename Extent>
HWY_INLINE V32 store_and_reload(V32 value, FloatsOut to, int64_t i, Extent extent) {
  store(value, to, i, extent);
  return to.is_bf16 ? load(FloatsIn(to), i, extent) : value;
}

// Sum over [0, count) of term(i, extent), in an order that depends on count alone.
template <typename Term>
HWY_INLINE float sum_of(int64_t count, const Term& term) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(F32()));
  V32 sum0 = hn::Zero(F32()), sum1 = sum0, sum2 = sum0, sum3 = sum0;
  int64_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    sum0 = hn::Add(sum0, term(i, Whole{}));
    sum1 = hn::Add(sum1, term(i + lanes, Whole{}));
    sum2 = hn::Add(sum2, term(i + 2 * lanes, Whole{}));
    sum3 = hn::Add(sum3, term(i + 3 * lanes, Whole{}));
  }
  for (; i + lanes <= count; i += lanes) sum0 = hn::Add(sum0, term(i, Whole{}));
  if (i < count) sum1 = hn::Add(sum1, term(i, Part{static_cast<size_t>(count - i)}));
  const V32 sum = hn::Add(hn::Add(sum0, sum1), hn::Add(sum2, sum3));
  return hn::GetLane(hn::SumOfLanes(F32(), sum));
}

// e^x for x up to 88; a NaN stays one, where Highway's answers 0.
HWY_INLINE V32 exponential(V32 x) { return hn::IfThenElse(hn::IsNaN(x), x, hn::Exp(F32(), x)); }

// tanh(x); a NaN stays one.
HWY_INLINE V32 hyperbolic_tangent(V32 x) {
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Tanh(F32(), x));
}

// 1 / (1 + e^-x), without overflow at either end.
HWY_INLINE V32 sigmoid(V32 x) {
  const V32 one = hn::Set(F32(), 1.0f);
  const V32 small = exponential(hn::Neg(hn::Abs(x)));
  const V32 numerator = hn::IfThenElse(hn::Lt(x, hn::Zero(F32())), small, one);
  return hn::Div(numerator, hn::Add(one, small));
}

}  // namespace cairn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // CAIRN_CPU_FLOATS_INL_H
