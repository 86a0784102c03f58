// AdamW with moments in 8 bits, in the order of bitsandbytes' CUDA kernel (docs/toolbox): the step
// reads the new moments before they are coded, decay comes after the step. Without explicit FMA, so
// the bits are those of plain f32 arithmetic on every instruction set. With a master the weight is
// its rounding; a bf16 weight without one may round at random, once, after step and decay.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/adamw_8bit.cpp"
#include "backend/cpu/simd_targets.h"
// The targets come first.
#include "hwy/foreach_target.h"
// Then what is compiled for each of them.
#include "backend/cpu/adamw_8bit.h"
#include "backend/cpu/block_codes-inl.h"
#include "backend/cpu/cpu_kernels.h"
#include "backend/cpu/noise-inl.h"
#include "backend/cpu/parallel.h"

HWY_BEFORE_NAMESPACE();
namespace cairn::cpu::HWY_NAMESPACE {

// The moments of one block while they are f32, and the largest magnitude of each so far.
struct BlockMoments {
  alignas(64) float m[kCodedBlock];
  alignas(64) float v[kCodedBlock];
  V32 largest_m, largest_v;
};

// `at` is where the block begins, i an element of the parameter.
template <typename Extent>
HWY_INLINE void update(const AdamW& settings, const AdamW8BitParameter& p, int64_t at, int64_t i,
                       Extent extent, bool at_random, W32 noise, BlockMoments& block) {
  const F32 d;
  const V32 beta1 = hn::Set(d, settings.beta1), rest1 = hn::Set(d, 1.0f - settings.beta1);
  const V32 beta2 = hn::Set(d, settings.beta2), rest2 = hn::Set(d, 1.0f - settings.beta2);
  const V32 gradient = hn::Mul(load(p.gradient, i, extent), hn::Set(d, settings.gradient_scale));
  const int64_t scale = at / kCodedBlock;
  V32 m = decode(p.m_tables, p.m.codes + i, p.m.scales[scale], extent);
  V32 v = decode(p.v_tables, p.v.codes + i, p.v.scales[scale], extent);
  m = hn::Add(hn::Mul(m, beta1), hn::Mul(rest1, gradient));
  v = hn::Add(hn::Mul(v, beta2), hn::Mul(hn::Mul(rest2, gradient), gradient));
  // A NaN, an infinity or an overflow of the square shows in v.
  const auto usable = hn::IsFinite(v);
  m = hn::IfThenElseZero(usable, m);
  v = hn::IfThenElseZero(usable, v);
  store(m, FloatsOut(block.m), i - at, extent);
  store(v, FloatsOut(block.v), i - at, extent);
  block.largest_m = hn::Max(block.largest_m, hn::Abs(m));
  block.largest_v = hn::Max(block.largest_v, v);

  const float root2 = std::sqrt(settings.bias_correction2);
  const V32 step = hn::Set(d, -settings.learning_rate * root2 / settings.bias_correction1);
  const V32 decay = hn::Set(d, 1.0f - settings.learning_rate * settings.weight_decay);
  const V32 denominator = hn::Add(hn::Sqrt(v), hn::Set(d, root2 * settings.epsilon));
  const FloatsOut trained = p.master ? p.master : p.weight;
  const V32 before = load(trained, i, extent);
  V32 weight = hn::Add(before, hn::Mul(step, hn::Div(m, denominator)));
  weight = hn::IfThenElse(usable, hn::Mul(weight, decay), before);
  if (at_random) weight = round_weight_at_random(weight, noise);
  store(weight, trained, i, extent);
  if (p.master) store(weight, p.weight, i, extent);
}

void update_block(const AdamW& settings, const AdamW8BitParameter& p, int64_t begin, int64_t end) {
  BlockMoments block;
  block.largest_m = block.largest_v = hn::Zero(F32());
  if (settings.stochastic_rounding && p.weight.is_bf16 && !p.master)
    for_each_noisy_vector(settings, begin, end, [&](int64_t i, auto extent, W32 noise) HWY_ATTR {
      update(settings, p, begin, i, extent, true, noise, block);
    });
  else
    for_each_vector(begin, end, [&](int64_t i, auto extent) HWY_ATTR {
      update(settings, p, begin, i, extent, false, hn::Zero(U32()), block);
    });
  const float m_scale = largest_lane(block.largest_m), v_scale = largest_lane(block.largest_v);
  p.m.scales[begin / kCodedBlock] = m_scale;
  p.v.scales[begin / kCodedBlock] = v_scale;
  encode_block(p.m_tables, block.m, m_scale, end - begin, p.m.codes + begin);
  encode_block(p.v_tables, block.v, v_scale, end - begin, p.v.codes + begin);
}

void update_blocks(const AdamW& settings, const AdamW8BitParameter& p, int64_t begin, int64_t end) {
  for (int64_t at = begin; at < end; at += kCodedBlock)
    update_block(settings, p, at, std::min(end, at + kCodedBlock));
}

}  // namespace cairn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cairn::cpu {
HWY_EXPORT(update_blocks);
}  // namespace cairn::cpu

namespace cairn {

using namespace cpu;

void CpuKernels::adamw_8bit(Stream, const AdamW& settings, ConstView gradient, View weight,
                            View master, const BlockCodes& m, const BlockCodes& v) {
  const AdamW8BitParameter parameter{gradient, weight, master, CodedFloats(m), CodedFloats(v)};
  for_each_chunk(threads_, weight.elements(), kElementsPerChunk, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(update_blocks)(settings, parameter, begin, end);
  });
}

}  // namespace cairn
#endif  // HWY_ONCE
