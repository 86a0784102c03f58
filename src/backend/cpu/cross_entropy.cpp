// Cross-entropy of rows of logits, in place. Exponentials are taken once: they are summed and, when
// the gradient is wanted, left where the logits were; behind a softcap the gradient needs the
// logits themselves, and takes the exponentials again. A NaN logit makes its row's loss NaN.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/cross_entropy.cpp"
#include "backend/cpu/simd_targets.h"
// The targets come first.
#include "hwy/foreach_target.h"
// Then what is compiled for each of them.
#include <limits>

#include "backend/cpu/cpu_kernels.h"
#include "backend/cpu/floats-inl.h"
#include "backend/cpu/parallel.h"

HWY_BEFORE_NAMESPACE();
namespace cairn::cpu::HWY_NAMESPACE {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

// Like load, but missing lanes hold minus infinity, whose exponential is 0.
HWY_INLINE V32 load_logits(FloatsIn from, int64_t i, Whole whole) { return load(from, i, whole); }
HWY_INLINE V32 load_logits(FloatsIn from, int64_t i, Part part) {
  float buffer[hn::MaxLanes(F32())];
  std::fill(buffer, buffer + hn::MaxLanes(F32()), kMinusInfinity);
  std::memcpy(buffer, from.as_f32() + i, part.count * sizeof(float));
  return hn::LoadU(F32(), buffer);
}

HWY_INLINE float largest_of(FloatsIn logits, int64_t at, int64_t vocab) {
  V32 largest = hn::Set(F32(), kMinusInfinity);
  for_each_vector(0, vocab, [&](int64_t i, auto extent) HWY_ATTR {
    largest = hn::Max(largest, load_logits(logits, at + i, extent));
  });
  return hn::GetLane(hn::MaxOfLanes(F32(), largest));
}

// The losses of rows [begin, end); logits stay.
void losses_of_rows(const int32_t* labels, FloatsIn logits, float* row_loss, int64_t vocab,
                    int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row) {
    const int64_t at = row * vocab;
    const float largest = largest_of(logits, at, vocab);
    const V32 shift = hn::Set(F32(), largest);
    const float sum = sum_of(vocab, [&](int64_t i, auto extent) HWY_ATTR {
      return exponential(hn::Sub(load_logits(logits, at + i, extent), shift));
    });
    row_loss[row] = std::log(sum) + (largest - logits.as_f32()[at + labels[row]]);
  }
}

// The same losses to the bit, and logits become (softmax - one_hot) * scale.
void gradients_of_rows(const int32_t* labels, float scale, FloatsOut logits, float* row_loss,
                       int64_t vocab, int64_t begin, int64_t end) {
  const FloatsIn before(logits);
  for (int64_t row = begin; row < end; ++row) {
    const int64_t at = row * vocab;
    float* const label = logits.as_f32() + at + labels[row];
    const float largest = largest_of(before, at, vocab), label_logit = *label;
    const V32 shift = hn::Set(F32(), largest);
    const float sum = sum_of(vocab, [&](int64_t i, auto extent) HWY_ATTR {
      const V32 power = exponential(hn::Sub(load_logits(before, at + i, extent), shift));
      store(power, logits, at + i, extent);
      return power;
    });
    row_loss[row] = std::log(sum) + (largest - label_logit);
    const V32 factor = hn::Set(F32(), scale / sum);
    for_each_vector(at, at + vocab, [&](int64_t i, auto extent) HWY_ATTR {
      store(hn::Mul(load(before, i, extent), factor), logits, i, extent);
    });
    *label -= scale;
  }
}

// The same for logits that are capped: times the cap's own slope, 1 - (logit / cap)^2.
void gradients_of_capped_rows(const int32_t* labels, float scale, float cap, FloatsOut logits,
                              float* row_loss, int64_t vocab, int64_t begin, int64_t end) {
  const FloatsIn before(logits);
  losses_of_rows(labels, before, row_loss, vocab, begin, end);
  const V32 one = hn::Set(F32(), 1.0f), inverse = hn::Set(F32(), 1 / cap);
  for (int64_t row = begin; row < end; ++row) {
    const int64_t at = row * vocab;
    float* const label = logits.as_f32() + at + labels[row];
    const float label_logit = *label, height = label_logit / cap;
    // A loss is log_sum_exp - logit, so that e^(x - log_sum_exp) is the softmax.
    const V32 shift = hn::Set(F32(), row_loss[row] + label_logit), factor = hn::Set(F32(), scale);
    for_each_vector(at, at + vocab, [&](int64_t i, auto extent) HWY_ATTR {
      const V32 x = load(before, i, extent), t = hn::Mul(x, inverse);
      const V32 slope = hn::Mul(factor, hn::NegMulAdd(t, t, one));
      store(hn::Mul(exponential(hn::Sub(x, shift)), slope), logits, i, extent);
    });
    *label -= scale * (1 - height * height);
  }
}

}  // namespace cairn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cairn::cpu {
HWY_EXPORT(losses_of_rows);
HWY_EXPORT(gradients_of_rows);
HWY_EXPORT(gradients_of_capped_rows);
}  // namespace cairn::cpu

namespace cairn {

using namespace cpu;

void CpuKernels::cross_entropy(Stream, ConstView labels, float scale, float softcap, bool gradient,
                               View logits, View row_loss) {
  const int64_t vocab = logits.columns();
  for_each_chunk(threads_, logits.rows(), rows_per_chunk(vocab), [&](int64_t begin, int64_t end) {
    const auto* const ids = labels.as<int32_t>();
    auto* const losses = row_loss.as<float>();
    if (!gradient)
      HWY_DYNAMIC_DISPATCH(losses_of_rows)(ids, logits, losses, vocab, begin, end);
    else if (softcap == 0)
      HWY_DYNAMIC_DISPATCH(gradients_of_rows)(ids, scale, logits, losses, vocab, begin, end);
    else
      HWY_DYNAMIC_DISPATCH(gradients_of_capped_rows)
    (ids, scale, softcap, logits, losses, vocab, begin, end);
  });
}

}  // namespace cairn
#endif  // HWY_ONCE
