// GeGLU: out = gelu(gate) * up in GELU's tanh form, and its backward; and the softcap. Every
// operand is read before any result of the same element is written, so results may lie over
// operands.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/geglu.cpp"
#include "backend/cpu/simd_targets.h"
// The targets come first.
#include "hwy/foreach_target.h"
// Then what is compiled for each of them.
#include "backend/cpu/cpu_kernels.h"
#include "backend/cpu/floats-inl.h"
#include "backend/cpu/parallel.h"

HWY_BEFORE_NAMESPACE();
namespace cairn::cpu::HWY_NAMESPACE {

// 0.5 * g * (1 + tanh(u)) is g * sigmoid(2u), where 2u = a * (g + b * g^3).
constexpr float kTwiceRoot = 1.5957691216057308f;  // a = 2 * sqrt(2 / pi)
constexpr float kCubic = 0.044715f;                // b

// A sigmoid and one minus it, both without cancellation.
struct Sides {
  V32 up, down;
};
HWY_INLINE Sides sides_of(V32 g) {
  const V32 cubic = hn::MulAdd(hn::Mul(g, g), hn::Set(F32(), kCubic), hn::Set(F32(), 1.0f));
  const V32 x = hn::Mul(hn::Set(F32(), kTwiceRoot), hn::Mul(g, cubic));
  return {sigmoid(x), sigmoid(hn::Neg(x))};
}

void gelu_range(FloatsIn gate, FloatsIn up, FloatsOut out, int64_t begin, int64_t end) {
  for_each_vector(begin, end, [&](int64_t i, auto extent) HWY_ATTR {
    const V32 g = load(gate, i, extent), u = load(up, i, extent);
    store(hn::Mul(hn::Mul(g, sides_of(g).up), u), out, i, extent);
  });
}

// gelu'(g) = s + g * s * (1 - s) * a * (1 + 3 b g^2).
void gelu_range_backward(FloatsIn d_out, FloatsIn gate, FloatsIn up, FloatsOut d_gate,
                         FloatsOut d_up, int64_t begin, int64_t end) {
  for_each_vector(begin, end, [&](int64_t i, auto extent) HWY_ATTR {
    const V32 g = load(gate, i, extent), u = load(up, i, extent), d = load(d_out, i, extent);
    const Sides s = sides_of(g);
    const V32 inner =
        hn::Mul(hn::Set(F32(), kTwiceRoot),
                hn::MulAdd(hn::Mul(g, g), hn::Set(F32(), 3 * kCubic), hn::Set(F32(), 1.0f)));
    const V32 slope = hn::MulAdd(hn::Mul(hn::Mul(g, s.up), s.down), inner, s.up);
    store(hn::Mul(hn::Mul(d, u), slope), d_gate, i, extent);
    store(hn::Mul(d, hn::Mul(g, s.up)), d_up, i, extent);
  });
}

void cap_range(float cap, FloatsOut inout, int64_t begin, int64_t end) {
  const FloatsIn before(inout);
  const V32 height = hn::Set(F32(), cap), inverse = hn::Set(F32(), 1 / cap);
  for_each_vector(begin, end, [&](int64_t i, auto extent) HWY_ATTR {
    const V32 bent = hyperbolic_tangent(hn::Mul(load(before, i, extent), inverse));
    store(hn::Mul(height, bent), inout, i, extent);
  });
}

}  // namespace cairn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cairn::cpu {
HWY_EXPORT(gelu_range);
HWY_EXPORT(gelu_range_backward);
HWY_EXPORT(cap_range);
}  // namespace cairn::cpu

namespace cairn {

using namespace cpu;

void CpuKernels::geglu_forward(Stream, ConstView gate, ConstView up, View out) {
  for_each_chunk(threads_, out.elements(), kElementsPerChunk, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(gelu_range)(gate, up, out, begin, end);
  });
}

void CpuKernels::geglu_backward(Stream, ConstView d_out, ConstView gate, ConstView up, View d_gate,
                                View d_up) {
  for_each_chunk(threads_, d_out.elements(), kElementsPerChunk, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(gelu_range_backward)(d_out, gate, up, d_gate, d_up, begin, end);
  });
}

void CpuKernels::softcap(Stream, float cap, View inout) {
  for_each_chunk(threads_, inout.elements(), kElementsPerChunk, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(cap_range)(cap, inout, begin, end);
  });
}

}  // namespace cairn
#endif  // HWY_ONCE
