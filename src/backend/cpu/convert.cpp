// Storage to storage: convert and add, element by element. f16 is only read: it comes from files.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/convert.cpp"
#include "backend/cpu/simd_targets.h"
// The targets come first.
#include "hwy/foreach_target.h"
// Then what is compiled for each of them.
#include "backend/cpu/cpu_kernels.h"
#include "backend/cpu/floats-inl.h"
#include "backend/cpu/parallel.h"

HWY_BEFORE_NAMESPACE();
namespace cairn::cpu::HWY_NAMESPACE {

void convert_range(FloatsIn in, FloatsOut out, int64_t begin, int64_t end) {
  for_each_vector(begin, end, [&](int64_t i, auto extent) HWY_ATTR {
    store(load(in, i, extent), out, i, extent);
  });
}

HWY_INLINE V32 load_f16(const hwy::float16_t* from, Whole) {
  return hn::PromoteTo(F32(), hn::LoadU(hn::Rebind<hwy::float16_t, F32>(), from));
}
HWY_INLINE V32 load_f16(const hwy::float16_t* from, Part part) {
  hwy::float16_t buffer[hn::MaxLanes(F32())] = {};
  std::memcpy(buffer, from, part.count * sizeof(hwy::float16_t));
  return load_f16(buffer, Whole{});
}

void convert_f16_range(const hwy::float16_t* in, FloatsOut out, int64_t begin, int64_t end) {
  for_each_vector(begin, end, [&](int64_t i, auto extent) HWY_ATTR {
    store(load_f16(in + i, extent), out, i, extent);
  });
}

void add_range(FloatsIn in, FloatsOut inout, int64_t begin, int64_t end) {
  const FloatsIn before(inout);
  for_each_vector(begin, end, [&](int64_t i, auto extent) HWY_ATTR {
    store(hn::Add(load(before, i, extent), load(in, i, extent)), inout, i, extent);
  });
}

}  // namespace cairn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cairn::cpu {
HWY_EXPORT(convert_range);
HWY_EXPORT(convert_f16_range);
HWY_EXPORT(add_range);
}  // namespace cairn::cpu

namespace cairn {

using namespace cpu;

void CpuKernels::convert(Stream, ConstView in, View out) {
  for_each_chunk(threads_, out.elements(), kElementsPerChunk, [&](int64_t begin, int64_t end) {
    if (in.dtype() == DType::f16)
      HWY_DYNAMIC_DISPATCH(convert_f16_range)(in.as<hwy::float16_t>(), out, begin, end);
    else
      HWY_DYNAMIC_DISPATCH(convert_range)(in, out, begin, end);
  });
}

void CpuKernels::add(Stream, ConstView in, View inout) {
  for_each_chunk(threads_, inout.elements(), kElementsPerChunk, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(add_range)(in, inout, begin, end);
  });
}

}  // namespace cairn
#endif  // HWY_ONCE
