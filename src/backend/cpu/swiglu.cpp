// SwiGLU: out = silu(gate) * up, and its backward. Every operand is read before any result of the
// same element is written, so results may lie over operands.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/swiglu.cpp"
#include "backend/cpu/simd_targets.h"
// The targets come first.
#include "hwy/foreach_target.h"
// Then what is compiled for each of them.
#include "backend/cpu/cpu_kernels.h"
#include "backend/cpu/floats-inl.h"
#include "backend/cpu/parallel.h"

HWY_BEFORE_NAMESPACE();
namespace cairn::cpu::HWY_NAMESPACE {

void gate_range(FloatsIn gate, FloatsIn up, FloatsOut out, int64_t begin, int64_t end) {
  for_each_vector(begin, end, [&](int64_t i, auto extent) HWY_ATTR {
    const V32 g = load(gate, i, extent), u = load(up, i, extent);
    store(hn::Mul(hn::Mul(g, sigmoid(g)), u), out, i, extent);
  });
}

// silu'(g) = s * (1 + g * (1 - s)), where s = sigmoid(g).
void gate_range_backward(FloatsIn d_out, FloatsIn gate, FloatsIn up, FloatsOut d_gate,
                         FloatsOut d_up, int64_t begin, int64_t end) {
  for_each_vector(begin, end, [&](int64_t i, auto extent) HWY_ATTR {
    const V32 one = hn::Set(F32(), 1.0f);
    const V32 g = load(gate, i, extent), u = load(up, i, extent), d = load(d_out, i, extent);
    const V32 s = sigmoid(g);
    const V32 slope = hn::Mul(s, hn::MulAdd(g, hn::Sub(one, s), one));
    store(hn::Mul(hn::Mul(d, u), slope), d_gate, i, extent);
    store(hn::Mul(d, hn::Mul(g, s)), d_up, i, extent);
  });
}

}  // namespace cairn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cairn::cpu {
HWY_EXPORT(gate_range);
HWY_EXPORT(gate_range_backward);
}  // namespace cairn::cpu

namespace cairn {

using namespace cpu;

void CpuKernels::swiglu_forward(Stream, ConstView gate, ConstView up, View out) {
  for_each_chunk(threads_, out.elements(), kElementsPerChunk, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(gate_range)(gate, up, out, begin, end);
  });
}

void CpuKernels::swiglu_backward(Stream, ConstView d_out, ConstView gate, ConstView up, View d_gate,
                                 View d_up) {
  for_each_chunk(threads_, d_out.elements(), kElementsPerChunk, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(gate_range_backward)(d_out, gate, up, d_gate, d_up, begin, end);
  });
}

}  // namespace cairn
#endif  // HWY_ONCE
