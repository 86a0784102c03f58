// 4-bit codes become f32: a block's 16 values are scaled once, then looked up a vector of codes at
// a time. Compiled once per instruction set.
#if defined(CAIRN_GEMM_DECODE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CAIRN_GEMM_DECODE_INL_H_
#undef CAIRN_GEMM_DECODE_INL_H_
#else
#define CAIRN_GEMM_DECODE_INL_H_
#endif

#include "backend/cpu/gemm/packed_job.h"
#include "hwy/highway.h"
#include "numeric/nf4.h"

HWY_BEFORE_NAMESPACE();
namespace cairn::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

HWY_INLINE float absmax_of(const QuantState& quant, int64_t block) {
  if (!quant.nested()) return quant.absmax.as<float>()[block];
  const float value = quant.nested_table.as<float>()[quant.absmax.as<uint8_t>()[block]];
  return value * quant.nested_absmax.as<float>()[block / kNestedBlock] +
         *quant.nested_offset.as<float>();
}

// The code of an element: the first of two in a byte is the upper half.
HWY_INLINE uint32_t code_at(const uint8_t* codes, int64_t element) {
  const uint32_t pair = codes[element / 2];
  return element % 2 == 0 ? pair >> 4 : pair & 15;
}

#if HWY_TARGET != HWY_SCALAR
// A vector's worth of codes from a whole byte on.
template <class D>
HWY_INLINE hn::Vec<hn::RebindToSigned<D>> load_codes(D, const uint8_t* from) {
  const hn::RebindToSigned<D> integers;
  const hn::Rebind<uint16_t, D> halves;
  const hn::Repartition<uint32_t, decltype(halves)> pairs;
  const auto bytes = hn::PromoteTo(pairs, hn::LoadU(hn::Rebind<uint8_t, decltype(pairs)>(), from));
  const auto apart = hn::Or(hn::ShiftRight<4>(bytes),
                            hn::ShiftLeft<16>(hn::And(bytes, hn::Set(pairs, uint32_t{15}))));
  return hn::PromoteTo(integers, hn::BitCast(halves, apart));
}

template <class D, class Codes>
HWY_INLINE hn::Vec<D> look_up(D d, const float* HWY_RESTRICT table, Codes codes) {
  if constexpr (hn::MaxLanes(D()) == 16)
    return hn::TableLookupLanes(hn::Load(d, table), hn::IndicesFromVec(d, codes));
  if constexpr (hn::MaxLanes(D()) == 8) {
    const hn::RebindToSigned<D> integers;
    const auto within = hn::IndicesFromVec(d, hn::And(codes, hn::Set(integers, 7)));
    const auto upper = hn::RebindMask(d, hn::Gt(codes, hn::Set(integers, 7)));
    return hn::IfThenElse(upper, hn::TableLookupLanes(hn::Load(d, table + 8), within),
                          hn::TableLookupLanes(hn::Load(d, table), within));
  }
  return hn::GatherIndex(d, table, codes);
}
#endif

// to[i] = element first + i of the flat order of the codes, for `count` elements; their blocks
// count from the beginning of the whole weight.
HWY_INLINE void decode_codes(const Operand& source, int64_t first, int64_t count,
                             float* HWY_RESTRICT to) {
  const QuantState& quant = *source.quant;
  const auto* codes = reinterpret_cast<const uint8_t*>(source.data);
  const float* HWY_RESTRICT table = quant.table.as<float>();
  HWY_ALIGN float values[16];
  for (int64_t at = first; at < first + count;) {
    const int64_t block = (quant.first + at) / quant.block;
    const int64_t end = HWY_MIN(first + count, (block + 1) * quant.block - quant.first);
    const float absmax = absmax_of(quant, block);
    for (int i = 0; i < 16; ++i) values[i] = table[i] * absmax;
#if HWY_TARGET != HWY_SCALAR
    const hn::CappedTag<float, 16> d;
    constexpr auto kStep = static_cast<int64_t>(hn::MaxLanes(d));
    if (at % 2 == 0)
      for (; at + kStep <= end; at += kStep)
        hn::StoreU(look_up(d, values, load_codes(d, codes + at / 2)), d, to + (at - first));
#endif
    for (; at < end; ++at) to[at - first] = values[code_at(codes, at)];
  }
}

}  // namespace cairn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
