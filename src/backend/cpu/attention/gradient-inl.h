// What happens to one row of a backward tile between its products: scores and d_probabilities
// become probabilities and d_scores. Compiled once per instruction set.
#include <algorithm>

#include "backend/cpu/attention/tiles-inl.h"
#include "hwy/highway.h"

#if defined(CAIRN_ATTENTION_GRADIENT_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CAIRN_ATTENTION_GRADIENT_INL_H
#undef CAIRN_ATTENTION_GRADIENT_INL_H
#else
#define CAIRN_ATTENTION_GRADIENT_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace cairn::cpu::HWY_NAMESPACE::attention {

// One query and head before the keys of a block; both rows hold whole vectors.
struct GradientRow {
  float* powers;       // [keys] scaled scores times log2(e); becomes probabilities
  float* d_scores;     // [keys] d_probabilities; becomes scale * d_scores
  int64_t first, end;  // the keys that the query sees; the others become 0
  int64_t keys;
  float log_sum_exp;  // natural
  float delta;
  float scale, softcap;
};

template <bool kCapped>
HWY_INLINE void differentiate(const GradientRow& row) {
  const Floats d;
  const Vector log_sum_exp = hn::Set(d, row.log_sum_exp * kLog2E);
  const Vector scale = hn::Set(d, row.scale), delta = hn::Set(d, row.delta * row.scale);
  const Vector cap = hn::Set(d, row.softcap * kLog2E);
  const Vector inverse_cap = hn::Set(d, kCapped ? 1 / (row.softcap * kLog2E) : 0.0f);
  float* HWY_RESTRICT powers = row.powers;
  float* HWY_RESTRICT d_scores = row.d_scores;
  const auto differentiate_vector = [&](int64_t key, auto mask) HWY_ATTR {
    Vector score = hn::Load(d, powers + key);
    Vector slope = hn::MulSub(hn::Load(d, d_scores + key), scale, delta);
    if constexpr (kCapped) {
      const Vector tangent = hyperbolic_tangent(hn::Mul(score, inverse_cap));
      score = hn::Mul(cap, tangent);
      slope = hn::Mul(slope, hn::NegMulAdd(tangent, tangent, hn::Set(d, 1.0f)));
    }
    const Vector power = exp2(hn::Sub(score, log_sum_exp));
    hn::Store(mask(power), d, powers + key);
    hn::Store(mask(hn::Mul(power, slope)), d, d_scores + key);
  };
  const auto hide = [&](int64_t begin, int64_t end) HWY_ATTR {
    for (int64_t key = begin; key < end; key += kLanes) {
      hn::Store(hn::Zero(d), d, powers + key);
      hn::Store(hn::Zero(d), d, d_scores + key);
    }
  };
  const auto differentiate_part = [&](int64_t key) HWY_ATTR {
    const auto early = hn::FirstN(d, static_cast<size_t>(std::max<int64_t>(0, row.first - key)));
    const auto visible = hn::AndNot(early, hn::FirstN(d, static_cast<size_t>(row.end - key)));
    differentiate_vector(key,
                         [&](Vector value) HWY_ATTR { return hn::IfThenElseZero(visible, value); });
  };
  int64_t key = row.first / kLanes * kLanes;
  hide(0, key);
  if (key < row.first) differentiate_part(key), key += kLanes;
  for (; key + kLanes <= row.end; key += kLanes)
    differentiate_vector(key, [](Vector value) HWY_ATTR { return value; });
  if (key < row.end) differentiate_part(key), key += kLanes;
  hide(key, row.keys);
}

}  // namespace cairn::cpu::HWY_NAMESPACE::attention
HWY_AFTER_NAMESPACE();

#endif  // CAIRN_ATTENTION_GRADIENT_INL_H
