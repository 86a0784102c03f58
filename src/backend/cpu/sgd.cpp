// Plain SGD as PyTorch's, without momentum: decay joins the gradient. With a master the weight is
// its rounding; a bf16 weight without one may round at random.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/sgd.cpp"
#include "backend/cpu/simd_targets.h"
// The targets come first.
#include "hwy/foreach_target.h"
// Then what is compiled for each of them.
#include "backend/cpu/cpu_kernels.h"
#include "backend/cpu/noise-inl.h"
#include "backend/cpu/parallel.h"

HWY_BEFORE_NAMESPACE();
namespace cairn::cpu::HWY_NAMESPACE {

void sgd_range(const Sgd& settings, FloatsIn gradients, FloatsOut weights, FloatsOut masters,
               int64_t begin, int64_t end) {
  const FloatsOut trained = masters ? masters : weights;
  const bool at_random = settings.stochastic_rounding && weights.is_bf16 && !masters;
  const auto update = [&](int64_t i, auto extent, W32 noise) HWY_ATTR {
    const F32 d;
    const V32 before = load(trained, i, extent);
    const V32 gradient =
        hn::Add(hn::Mul(load(gradients, i, extent), hn::Set(d, settings.gradient_scale)),
                hn::Mul(hn::Set(d, settings.weight_decay), before));
    V32 weight = hn::Sub(before, hn::Mul(hn::Set(d, settings.learning_rate), gradient));
    if (at_random) weight = round_weight_at_random(weight, noise);
    store(weight, trained, i, extent);
    if (masters) store(weight, weights, i, extent);
  };
  if (at_random)
    for_each_noisy_vector(settings, begin, end, update);
  else
    for_each_vector(begin, end,
                    [&](int64_t i, auto extent) HWY_ATTR { update(i, extent, hn::Zero(U32())); });
}

}  // namespace cairn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cairn::cpu {
HWY_EXPORT(sgd_range);
}  // namespace cairn::cpu

namespace cairn {

using namespace cpu;

void CpuKernels::sgd(Stream, const Sgd& settings, ConstView gradient, View weight, View master) {
  for_each_chunk(threads_, weight.elements(), kElementsPerChunk, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(sgd_range)
    (settings, FloatsIn(gradient), FloatsOut(weight), FloatsOut(master), begin, end);
  });
}

}  // namespace cairn
#endif  // HWY_ONCE
