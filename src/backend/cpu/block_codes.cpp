// Encoding and decoding of 8-bit blocks.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/block_codes.cpp"
#include "backend/cpu/simd_targets.h"
// The targets come first.
#include "hwy/foreach_target.h"
// Then what is compiled for each of them.
#include "backend/cpu/block_codes-inl.h"
#include "backend/cpu/cpu_kernels.h"
#include "backend/cpu/parallel.h"

HWY_BEFORE_NAMESPACE();
namespace cairn::cpu::HWY_NAMESPACE {

void encode_range(const CodeTables& tables, const float* in, const CodedFloats& out, int64_t begin,
                  int64_t end) {
  for (int64_t at = begin; at < end; at += kCodedBlock) {
    const int64_t count = std::min(kCodedBlock, end - at);
    V32 largest = hn::Zero(F32());
    for_each_vector(at, at + count, [&](int64_t i, auto extent) HWY_ATTR {
      largest = hn::Max(largest, hn::Abs(load(FloatsIn(in), i, extent)));
    });
    const float scale = largest_lane(largest);
    out.scales[at / kCodedBlock] = scale;
    encode_block(tables, in + at, scale, count, out.codes + at);
  }
}

void decode_range(const CodeTables& tables, const CodedFloats& in, float* out, int64_t begin,
                  int64_t end) {
  for_each_vector(begin, end, [&](int64_t i, auto extent) HWY_ATTR {
    store(decode(tables, in.codes + i, in.scales[i / kCodedBlock], extent), FloatsOut(out), i,
          extent);
  });
}

}  // namespace cairn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cairn::cpu {
HWY_EXPORT(encode_range);
HWY_EXPORT(decode_range);
}  // namespace cairn::cpu

namespace cairn {

using namespace cpu;

void CpuKernels::encode_blocks(Stream, bool is_signed, ConstView in, const BlockCodes& out) {
  const CodeTables tables(is_signed);
  const CodedFloats coded(out);
  for_each_chunk(threads_, in.elements(), kElementsPerChunk, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(encode_range)(tables, in.as<float>(), coded, begin, end);
  });
}

void CpuKernels::decode_blocks(Stream, bool is_signed, const BlockCodes& in, View out) {
  const CodeTables tables(is_signed);
  const CodedFloats coded(in);
  for_each_chunk(threads_, out.elements(), kElementsPerChunk, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(decode_range)(tables, coded, out.as<float>(), begin, end);
  });
}

}  // namespace cairn
#endif  // HWY_ONCE
