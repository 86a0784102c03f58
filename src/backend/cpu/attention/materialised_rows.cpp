// Softmax over whole rows of scores and its derivative, compiled once per instruction set. A row's
// sums run over the keys that it sees, in an order that their number alone decides.
#include "backend/cpu/attention/materialised_rows.h"

#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/attention/materialised_rows.cpp"
#include "backend/cpu/simd_targets.h"
// clang-format off
#include "hwy/foreach_target.h"
#include "backend/cpu/attention/tiles-inl.h"
// clang-format on
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace cairn::cpu::HWY_NAMESPACE {
namespace attention {

// The value, and 0 in lanes past the end.
HWY_INLINE V32 only(V32 value, Whole) { return value; }
HWY_INLINE V32 only(V32 value, Part part) {
  return hn::IfThenElseZero(hn::FirstN(F32(), part.count), value);
}

// tanh of a score over its cap, both times log2(e).
HWY_INLINE V32 capped_tangent(V32 score, float softcap) {
  return hyperbolic_tangent(hn::Mul(score, hn::Set(F32(), 1 / (softcap * kLog2E))));
}

HWY_INLINE void cap_row(float softcap, float* scores, int64_t begin, int64_t end) {
  const V32 cap = hn::Set(F32(), softcap * kLog2E);
  for_each_vector(begin, end, [&](int64_t i, auto extent) HWY_ATTR {
    store(hn::Mul(cap, capped_tangent(load(scores, i, extent), softcap)), scores, i, extent);
  });
}

HWY_INLINE float largest_of(const float* scores, int64_t begin, int64_t end) {
  V32 largest = hn::Set(F32(), std::numeric_limits<float>::lowest());
  int64_t i = begin;
  for (; i + kLanes <= end; i += kLanes) largest = hn::Max(largest, hn::LoadU(F32(), scores + i));
  float most = hn::GetLane(hn::MaxOfLanes(F32(), largest));
  for (; i < end; ++i) most = std::max(most, scores[i]);
  return most;
}

HWY_INLINE void soften_row(const ScoreRows& rows, int64_t row, float* scores, FloatsOut to,
                           int64_t start) {
  const int64_t begin = rows.tile.first_key(row, rows.keys);
  const int64_t end = rows.tile.end_key(row, rows.keys);
  if (rows.softcap != 0) cap_row(rows.softcap, scores, begin, end);
  const V32 largest = hn::Set(F32(), largest_of(scores, begin, end));
  float* const seen = scores + begin;
  const float sum = sum_of(end - begin, [&](int64_t i, auto extent) HWY_ATTR {
    const V32 power = only(exp2(hn::Sub(load(seen, i, extent), largest)), extent);
    store(power, seen, i, extent);
    return power;
  });
  const V32 inverse = hn::Set(F32(), 1 / sum);
  const auto hide = [&](int64_t i, auto extent)
                        HWY_ATTR { store(hn::Zero(F32()), to, start + i, extent); };
  for_each_vector(0, begin, hide);
  for_each_vector(begin, end, [&](int64_t i, auto extent) HWY_ATTR {
    store(hn::Mul(load(scores, i, extent), inverse), to, start + i, extent);
  });
  for_each_vector(end, rows.keys, hide);
}

template <bool kCapped>
HWY_INLINE void differentiate_row(const ScoreRows& rows, FloatsIn probabilities, int64_t start,
                                  float scale, const float* scores, float* d_probabilities) {
  const V32 delta = hn::Set(F32(), sum_of(rows.keys, [&](int64_t i, auto extent) HWY_ATTR {
                              return hn::Mul(load(probabilities, start + i, extent),
                                             load(d_probabilities, i, extent));
                            }));
  const V32 factor = hn::Set(F32(), scale);
  for_each_vector(0, rows.keys, [&](int64_t i, auto extent) HWY_ATTR {
    const V32 slope = hn::Sub(load(d_probabilities, i, extent), delta);
    V32 d_score = hn::Mul(hn::Mul(load(probabilities, start + i, extent), slope), factor);
    if constexpr (kCapped) {
      const V32 tangent = capped_tangent(load(scores, i, extent), rows.softcap);
      d_score = hn::Mul(d_score, hn::NegMulAdd(tangent, tangent, hn::Set(F32(), 1.0f)));
    }
    store(d_score, d_probabilities, i, extent);
  });
}

}  // namespace attention

void soften_rows(const ScoreRows& rows, float* scores, const ProbabilityRows<FloatsOut>& to) {
  for (int64_t row = 0; row < rows.tile.count; ++row)
    attention::soften_row(rows, row, scores + row * rows.stride, to.floats,
                          to.first + row * to.stride);
}

void differentiate_rows(const ScoreRows& rows, const ProbabilityRows<FloatsIn>& probabilities,
                        float scale, const float* scores, float* d_probabilities) {
  for (int64_t row = 0; row < rows.tile.count; ++row) {
    const int64_t start = probabilities.first + row * probabilities.stride;
    const int64_t at = row * rows.stride;
    if (rows.softcap != 0)
      attention::differentiate_row<true>(rows, probabilities.floats, start, scale, scores + at,
                                         d_probabilities + at);
    else
      attention::differentiate_row<false>(rows, probabilities.floats, start, scale, nullptr,
                                          d_probabilities + at);
  }
}

}  // namespace cairn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cairn::cpu {
HWY_EXPORT(soften_rows);
HWY_EXPORT(differentiate_rows);
void soften_rows(const ScoreRows& rows, float* scores, const ProbabilityRows<FloatsOut>& to) {
  HWY_DYNAMIC_DISPATCH(soften_rows)(rows, scores, to);
}
void differentiate_rows(const ScoreRows& rows, const ProbabilityRows<FloatsIn>& probabilities,
                        float scale, const float* scores, float* d_probabilities) {
  HWY_DYNAMIC_DISPATCH(differentiate_rows)(rows, probabilities, scale, scores, d_probabilities);
}
}  // namespace cairn::cpu
#endif
