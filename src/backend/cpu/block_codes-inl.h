// SIMD access to 8-bit block codes: decoding by the map, and the nearest code by the table of
// ranks. Results are those of numeric/dynamic_map.h on every instruction set.
#include "backend/cpu/block_codes.h"
#include "backend/cpu/floats-inl.h"

// Compiled once for every target.
#if defined(CAIRN_CPU_BLOCK_CODES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CAIRN_CPU_BLOCK_CODES_INL_H
#undef CAIRN_CPU_BLOCK_CODES_INL_H
#else
#define CAIRN_CPU_BLOCK_CODES_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace cairn::cpu::HWY_NAMESPACE {

using I32 = hn::RebindToSigned<F32>;
using U8 = hn::Rebind<uint8_t, F32>;

HWY_INLINE hn::Vec<I32> load_codes(const uint8_t* from, uint8_t, Whole) {
  return hn::PromoteTo(I32(), hn::LoadU(U8(), from));
}

// Missing lanes hold `zero`, the code of 0.
HWY_INLINE hn::Vec<I32> load_codes(const uint8_t* from, uint8_t zero, Part part) {
  uint8_t buffer[hn::MaxLanes(F32())];
  std::memset(buffer, zero, sizeof(buffer));
  std::memcpy(buffer, from, part.count);
  return hn::PromoteTo(I32(), hn::LoadU(U8(), buffer));
}

HWY_INLINE void store_codes(hn::Vec<I32> codes, uint8_t* to, Whole) {
  hn::StoreU(hn::DemoteTo(U8(), codes), U8(), to);
}

HWY_INLINE void store_codes(hn::Vec<I32> codes, uint8_t* to, Part part) {
  uint8_t buffer[hn::MaxLanes(F32())];
  store_codes(codes, buffer, Whole{});
  std::memcpy(to, buffer, part.count);
}

template <typename Extent>
HWY_INLINE V32 decode(const CodeTables& tables, const uint8_t* codes, float scale, Extent extent) {
  const auto indices = load_codes(codes, tables.zero(), extent);
  return hn::Mul(hn::GatherIndex(F32(), tables.map, indices), hn::Set(F32(), scale));
}

// The codes of values in [-1, 1], or [0, 1] by the unsigned map.
HWY_INLINE hn::Vec<I32> nearest_codes(const CodeTables& tables, V32 values) {
  const I32 d;
  const V32 magnitude =
      hn::Min(hn::Max(hn::Abs(values), hn::Set(F32(), DynamicRanks::kLeast)), hn::Set(F32(), 1.0f));
  const auto bits = hn::BitCast(d, magnitude);
  const auto low = hn::Set(d, 0xffff);
  const auto first = hn::Set(d, static_cast<int32_t>(DynamicRanks::kFirstCell));
  const auto cell = hn::GatherIndex(d, tables.ranks, hn::Sub(hn::ShiftRight<16>(bits), first));
  const auto under = hn::Gt(hn::And(cell, low), hn::And(bits, low));
  // The upper half is signed: a rank of -1 comes out as that.
  const auto below = hn::ShiftRight<16>(cell);
  const auto rank = hn::IfThenElse(under, below, hn::Add(below, hn::Set(d, 1)));
  if (!tables.is_signed) return rank;
  const auto zero = hn::Set(d, kSignedZero);
  const auto negative = hn::RebindMask(d, hn::Lt(values, hn::Zero(F32())));
  const auto kept = hn::Max(hn::Min(rank, zero), hn::Set(d, 1));
  return hn::IfThenElse(negative, hn::Sub(zero, kept), hn::Add(zero, rank));
}

// Codes of one block of `count` values, which are finite and at most `scale` in magnitude.
HWY_INLINE void encode_block(const CodeTables& tables, const float* values, float scale,
                             int64_t count, uint8_t* codes) {
  // A block of zeros has the codes of zero.
  const V32 divisor = hn::Set(F32(), scale > 0 ? scale : 1.0f);
  for_each_vector(0, count, [&](int64_t i, auto extent) HWY_ATTR {
    const V32 shares = hn::Div(load(FloatsIn(values), i, extent), divisor);
    store_codes(nearest_codes(tables, shares), codes + i, extent);
  });
}

HWY_INLINE float largest_lane(V32 values) { return hn::GetLane(hn::MaxOfLanes(F32(), values)); }

}  // namespace cairn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // CAIRN_CPU_BLOCK_CODES_INL_H
