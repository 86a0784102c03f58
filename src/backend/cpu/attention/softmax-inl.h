// The online softmax of one tile of scores, queries across the lanes: maxima and sums of a row
// never leave their lane, and keys are taken in order. Compiled once per instruction set.
#include <algorithm>
#include <limits>

#include "backend/cpu/attention/tiles-inl.h"
#include "hwy/highway.h"

#if defined(CAIRN_ATTENTION_SOFTMAX_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CAIRN_ATTENTION_SOFTMAX_INL_H
#undef CAIRN_ATTENTION_SOFTMAX_INL_H
#else
#define CAIRN_ATTENTION_SOFTMAX_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace cairn::cpu::HWY_NAMESPACE::attention {

// The running softmax of one panel of rows: each pointer holds kPanelWidth rows.
struct Softmax {
  const int32_t* visible;  // the row sees keys of the segment below this one
  int32_t window;          // and of those the last so many
  float* maximum;
  float* sum;     // of powers, relative to maximum
  float* factor;  // by which this tile shrinks what was summed before
};

// Which keys of a tile may be hidden from a row: none, late ones, or early ones too.
enum class Mask { none, late, both };

// scores [keys][kPanelWidth] of a tile become powers relative to the new maxima; keys that a row
// does not see become 0.
template <int kVectors, Mask kMask>
HWY_INLINE void soften(float* HWY_RESTRICT scores, int64_t keys, int64_t first_key, Softmax rows) {
  const Floats d;
  const hn::RebindToSigned<Floats> integers;
  const Vector lowest = hn::Set(d, std::numeric_limits<float>::lowest());
  const auto hidden = [&](int v, int64_t key) HWY_ATTR {
    const auto limit = hn::LoadU(integers, rows.visible + v * kLanes);
    const auto index = hn::Set(integers, static_cast<int32_t>(first_key + key));
    const auto late = hn::Not(hn::Gt(limit, index));
    if constexpr (kMask == Mask::late) return hn::RebindMask(d, late);
    const auto first = hn::Sub(limit, hn::Set(integers, rows.window));
    return hn::RebindMask(d, hn::Or(late, hn::Gt(first, index)));
  };
  Vector maximum[kVectors], sum[kVectors];
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    maximum[v] = hn::LoadU(d, rows.maximum + v * kLanes);
    sum[v] = hn::Zero(d);
  }
  for (int64_t key = 0; key < keys; ++key) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      Vector score = hn::Load(d, scores + key * kPanelWidth + v * kLanes);
      if constexpr (kMask != Mask::none) score = hn::IfThenElse(hidden(v, key), lowest, score);
      maximum[v] = hn::Max(maximum[v], score);
    }
  }
  for (int64_t key = 0; key < keys; ++key) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      float* at = scores + key * kPanelWidth + v * kLanes;
      Vector power = exp2(hn::Sub(hn::Load(d, at), maximum[v]));
      if constexpr (kMask != Mask::none) power = hn::IfThenZeroElse(hidden(v, key), power);
      sum[v] = hn::Add(sum[v], power);
      hn::Store(power, d, at);
    }
  }
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    float* const row_sum = rows.sum + v * kLanes;
    const Vector factor = exp2(hn::Sub(hn::LoadU(d, rows.maximum + v * kLanes), maximum[v]));
    hn::StoreU(hn::MulAdd(hn::LoadU(d, row_sum), factor, sum[v]), d, row_sum);
    hn::StoreU(factor, d, rows.factor + v * kLanes);
    hn::StoreU(maximum[v], d, rows.maximum + v * kLanes);
  }
}

template <int kVectors>
HWY_NOINLINE void soften_tile(float* scores, int64_t keys, int64_t first_key, Softmax rows) {
  const auto [fewest, most] = std::minmax_element(rows.visible, rows.visible + kVectors * kLanes);
  if (*most - rows.window > first_key)
    soften<kVectors, Mask::both>(scores, keys, first_key, rows);
  else if (*fewest < first_key + keys)
    soften<kVectors, Mask::late>(scores, keys, first_key, rows);
  else
    soften<kVectors, Mask::none>(scores, keys, first_key, rows);
}

// scores [keys][kPanelWidth], s * log2(e), become softcap * tanh(s / softcap) * log2(e).
inline void cap_scores(float* HWY_RESTRICT scores, int64_t keys, int64_t vectors, float softcap) {
  const Floats d;
  const Vector cap = hn::Set(d, softcap * kLog2E), inverse = hn::Set(d, 1 / (softcap * kLog2E));
  for (int64_t key = 0; key < keys; ++key)
    for (int64_t v = 0; v < vectors; ++v) {
      float* const at = scores + key * kPanelWidth + v * kLanes;
      hn::Store(hn::Mul(cap, hyperbolic_tangent(hn::Mul(hn::Load(d, at), inverse))), d, at);
    }
}

HWY_INLINE void soften_any(int64_t vectors, float* scores, int64_t keys, int64_t first_key,
                           Softmax rows) {
  if constexpr (kTileVectors == 4) {
    if (vectors == 4) return soften_tile<4>(scores, keys, first_key, rows);
    if (vectors == 3) return soften_tile<3>(scores, keys, first_key, rows);
  }
  if (vectors == 2) return soften_tile<2>(scores, keys, first_key, rows);
  soften_tile<1>(scores, keys, first_key, rows);
}

}  // namespace cairn::cpu::HWY_NAMESPACE::attention
HWY_AFTER_NAMESPACE();

#endif  // CAIRN_ATTENTION_SOFTMAX_INL_H
