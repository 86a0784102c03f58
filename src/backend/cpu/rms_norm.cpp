// RMS norm. A row's sums depend on its length alone. The weight's gradient is added token by token,
// in order, by the thread that owns the columns: its bits depend neither on threads nor on how
// tokens were cut into calls, and it needs no scratch.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/rms_norm.cpp"
#include "backend/cpu/simd_targets.h"
// The targets come first.
#include "hwy/foreach_target.h"
// Then what is compiled for each of them.
#include "backend/cpu/cpu_kernels.h"
#include "backend/cpu/floats-inl.h"
#include "backend/cpu/parallel.h"

HWY_BEFORE_NAMESPACE();
namespace cairn::cpu::HWY_NAMESPACE {

HWY_INLINE V32 moved(FloatsIn weight, V32 offset, int64_t i, auto extent) {
  return hn::Add(load(weight, i, extent), offset);
}

void norm_rows(FloatsIn x, FloatsIn weight, float offset, float epsilon, FloatsOut y, float* rstd,
               int64_t hidden, int64_t begin, int64_t end) {
  const V32 more = hn::Set(F32(), offset);
  for (int64_t row = begin; row < end; ++row) {
    const int64_t at = row * hidden;
    const float squares = sum_of(hidden, [&](int64_t i, auto extent) HWY_ATTR {
      const V32 value = load(x, at + i, extent);
      return hn::Mul(value, value);
    });
    rstd[row] = 1.0f / std::sqrt(squares / static_cast<float>(hidden) + epsilon);
    const V32 scale = hn::Set(F32(), rstd[row]);
    for_each_vector(0, hidden, [&](int64_t i, auto extent) HWY_ATTR {
      const V32 normal = hn::Mul(load(x, at + i, extent), scale);
      store(hn::Mul(moved(weight, more, i, extent), normal), y, at + i, extent);
    });
  }
}

// d_x += rstd * (w * d_y - n * mean(w * d_y * n)), where n = x * rstd, and w has the offset.
void norm_rows_backward(FloatsIn d_y, FloatsIn x, FloatsIn weight, float offset, const float* rstd,
                        FloatsOut d_x, int64_t hidden, int64_t begin, int64_t end) {
  const V32 more = hn::Set(F32(), offset);
  const FloatsIn d_x_before(d_x);
  for (int64_t row = begin; row < end; ++row) {
    const int64_t at = row * hidden;
    const float dot = sum_of(hidden, [&](int64_t i, auto extent) HWY_ATTR {
      const V32 weighted = hn::Mul(moved(weight, more, i, extent), load(d_y, at + i, extent));
      return hn::Mul(weighted, load(x, at + i, extent));
    });
    const float mean = dot * rstd[row] / static_cast<float>(hidden);
    const V32 scale = hn::Set(F32(), rstd[row]), pull = hn::Set(F32(), mean * rstd[row]);
    for_each_vector(0, hidden, [&](int64_t i, auto extent) HWY_ATTR {
      const V32 weighted = hn::Mul(moved(weight, more, i, extent), load(d_y, at + i, extent));
      const V32 inner = hn::NegMulAdd(load(x, at + i, extent), pull, weighted);
      store(hn::MulAdd(scale, inner, load(d_x_before, at + i, extent)), d_x, at + i, extent);
    });
  }
}

// d_weight[i] += sum of d_y * x * rstd over all tokens, for columns [begin, end); rounded once.
void norm_weight_gradient(FloatsIn d_y, FloatsIn x, const float* rstd, FloatsOut d_weight,
                          int64_t tokens, int64_t hidden, int64_t begin, int64_t end) {
  float sums[kColumnsPerChunk];
  const FloatsIn before(sums);
  const FloatsOut after(sums);
  const int64_t columns = end - begin;
  for_each_vector(0, columns, [&](int64_t i, auto extent) HWY_ATTR {
    store(load(FloatsIn(d_weight), begin + i, extent), after, i, extent);
  });
  for (int64_t row = 0; row < tokens; ++row) {
    const int64_t at = row * hidden + begin;
    const V32 scale = hn::Set(F32(), rstd[row]);
    for_each_vector(0, columns, [&](int64_t i, auto extent) HWY_ATTR {
      const V32 normal = hn::Mul(load(x, at + i, extent), scale);
      const V32 sum = hn::MulAdd(load(d_y, at + i, extent), normal, load(before, i, extent));
      store(sum, after, i, extent);
    });
  }
  for_each_vector(0, columns, [&](int64_t i, auto extent) HWY_ATTR {
    store(load(before, i, extent), d_weight, begin + i, extent);
  });
}

}  // namespace cairn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cairn::cpu {

HWY_EXPORT(norm_rows);
HWY_EXPORT(norm_rows_backward);
HWY_EXPORT(norm_weight_gradient);

}  // namespace cairn::cpu

namespace cairn {

using namespace cpu;

void CpuKernels::rms_norm_forward(Stream, ConstView x, ConstView weight, float offset,
                                  float epsilon, View y, View rstd) {
  const int64_t hidden = x.columns();
  for_each_chunk(threads_, x.rows(), rows_per_chunk(hidden), [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(norm_rows)
    (x, weight, offset, epsilon, y, rstd.as<float>(), hidden, begin, end);
  });
}

void CpuKernels::rms_norm_backward(Stream, ConstView d_y, ConstView x, ConstView weight,
                                   float offset, ConstView rstd, View d_x, View d_weight) {
  const int64_t tokens = x.rows(), hidden = x.columns();
  for_each_chunk(threads_, tokens, rows_per_chunk(hidden), [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(norm_rows_backward)
    (d_y, x, weight, offset, rstd.as<float>(), d_x, hidden, begin, end);
  });
  if (!d_weight) return;
  for_each_chunk(threads_, hidden, kColumnsPerChunk, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(norm_weight_gradient)
    (d_y, x, rstd.as<float>(), d_weight, tokens, hidden, begin, end);
  });
}

}  // namespace cairn
#endif  // HWY_ONCE
