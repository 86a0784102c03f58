// AdamW in PyTorch's order: decay, then the moments, then the step. With a master the weight is its
// rounding. A bf16 weight without a master, and a bf16 v, may round at random, keyed by (seed,
// stream, element): to nearest, a step under half a unit in the last place would be lost every
// time, and v with beta2 = 0.999 would never move. m moves by a tenth a step and rounds to nearest.
// The step reads the moments as they were stored.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/adamw.cpp"
#include "backend/cpu/simd_targets.h"
// The targets come first.
#include "hwy/foreach_target.h"
// Then what is compiled for each of them.
#include "backend/cpu/adamw.h"
#include "backend/cpu/cpu_kernels.h"
#include "backend/cpu/noise-inl.h"
#include "backend/cpu/parallel.h"

HWY_BEFORE_NAMESPACE();
namespace cairn::cpu::HWY_NAMESPACE {

template <typename Extent>
HWY_INLINE void update(const AdamW& settings, const AdamWParameter& p, int64_t i, Extent extent,
                       bool weight_at_random, bool v_at_random, W32 noise) {
  const F32 d;
  const FloatsOut trained = p.master ? p.master : p.weight;
  const V32 gradient = hn::Mul(load(p.gradient, i, extent), hn::Set(d, settings.gradient_scale));

  const V32 rest1 = hn::Set(d, settings.rest1), rest2 = hn::Set(d, settings.rest2);
  const V32 m_before = load(p.m, i, extent);
  const V32 m =
      store_and_reload(hn::MulAdd(hn::Sub(gradient, m_before), rest1, m_before), p.m, i, extent);
  const V32 square = hn::Mul(hn::Mul(gradient, gradient), rest2);
  V32 v = hn::MulAdd(load(p.v, i, extent), hn::Set(d, settings.beta2), square);
  if (v_at_random) v = round_at_random(v, hn::ShiftRight<16>(noise));
  v = store_and_reload(v, p.v, i, extent);

  const V32 decay = hn::Set(d, 1.0f - settings.learning_rate * settings.weight_decay);
  const V32 root2 = hn::Set(d, std::sqrt(settings.bias_correction2));
  const V32 step = hn::Set(d, settings.learning_rate / settings.bias_correction1);
  const V32 denominator = hn::Add(hn::Div(hn::Sqrt(v), root2), hn::Set(d, settings.epsilon));
  V32 weight = hn::Mul(load(trained, i, extent), decay);
  weight = hn::NegMulAdd(step, hn::Div(m, denominator), weight);
  if (weight_at_random) weight = round_at_random(weight, hn::And(noise, hn::Set(U32(), 0xffffu)));
  store(weight, trained, i, extent);
  if (p.master) store(weight, p.weight, i, extent);
}

void update_range(const AdamW& settings, const AdamWParameter& p, int64_t begin, int64_t end) {
  const bool weight_at_random = settings.stochastic_rounding && p.weight.is_bf16 && !p.master;
  const bool v_at_random = settings.stochastic_rounding && p.v.is_bf16;
  if (!weight_at_random && !v_at_random) {
    for_each_vector(begin, end, [&](int64_t i, auto extent) HWY_ATTR {
      update(settings, p, i, extent, false, false, hn::Zero(U32()));
    });
    return;
  }
  for_each_noisy_vector(settings, begin, end, [&](int64_t i, auto extent, W32 noise) HWY_ATTR {
    update(settings, p, i, extent, weight_at_random, v_at_random, noise);
  });
}

}  // namespace cairn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cairn::cpu {
HWY_EXPORT(update_range);
}  // namespace cairn::cpu

namespace cairn {

using namespace cpu;

void CpuKernels::adamw(Stream, const AdamW& settings, ConstView gradient, View weight, View master,
                       View m, View v) {
  const AdamWParameter parameter{gradient, weight, master, m, v};
  for_each_chunk(threads_, weight.elements(), kElementsPerChunk, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(update_range)(settings, parameter, begin, end);
  });
}

}  // namespace cairn
#endif  // HWY_ONCE
