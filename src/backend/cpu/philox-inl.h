// The Philox words of base/random.h, a vector of draws at a time.
#include "hwy/highway.h"

// Compiled once for every target.
#if defined(CAIRN_CPU_PHILOX_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CAIRN_CPU_PHILOX_INL_H
#undef CAIRN_CPU_PHILOX_INL_H
#else
#define CAIRN_CPU_PHILOX_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace cairn::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using U32 = hn::ScalableTag<uint32_t>;
using W32 = hn::Vec<U32>;

// The halves of the 64-bit products a * b, lane by lane.
HWY_INLINE void multiply_wide(W32 a, W32 b, W32& low, W32& high) {
#if HWY_TARGET == HWY_SCALAR
  const uint64_t product = uint64_t{hn::GetLane(a)} * hn::GetLane(b);
  low = hn::Set(U32(), static_cast<uint32_t>(product));
  high = hn::Set(U32(), static_cast<uint32_t>(product >> 32));
#else
  const hn::Repartition<uint64_t, U32> wide;
  const auto even = hn::BitCast(wide, hn::MulEven(a, b));
  const auto a_odd = hn::BitCast(U32(), hn::ShiftRight<32>(hn::BitCast(wide, a)));
  const auto odd = hn::BitCast(wide, hn::MulEven(a_odd, b));
  low = hn::OddEven(hn::BitCast(U32(), hn::ShiftLeft<32>(odd)), hn::BitCast(U32(), even));
  high = hn::OddEven(hn::BitCast(U32(), odd), hn::BitCast(U32(), hn::ShiftRight<32>(even)));
#endif
}

// words[4 * n + j] is word j of draw first + n, for one vector of draws; first + lanes must not
// carry into the upper half of the counter, so `first` is a multiple of the number of lanes.
HWY_INLINE void philox_words(uint64_t seed, uint64_t stream, uint64_t first, uint32_t* words) {
  const U32 d;
  W32 c0 = hn::Add(hn::Set(d, static_cast<uint32_t>(first)), hn::Iota(d, 0u));
  W32 c1 = hn::Set(d, static_cast<uint32_t>(first >> 32));
  W32 c2 = hn::Set(d, static_cast<uint32_t>(stream));
  W32 c3 = hn::Set(d, static_cast<uint32_t>(stream >> 32));
  uint32_t k0 = static_cast<uint32_t>(seed), k1 = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    W32 low0, high0, low1, high1;
    multiply_wide(c0, hn::Set(d, uint32_t{0xD2511F53}), low0, high0);
    multiply_wide(c2, hn::Set(d, uint32_t{0xCD9E8D57}), low1, high1);
    c0 = hn::Xor(hn::Xor(high1, c1), hn::Set(d, k0));
    c2 = hn::Xor(hn::Xor(high0, c3), hn::Set(d, k1));
    c1 = low1;
    c3 = low0;
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  hn::StoreInterleaved4(c0, c1, c2, c3, d, words);
}

}  // namespace cairn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // CAIRN_CPU_PHILOX_INL_H
