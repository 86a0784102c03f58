// Rounding at random, keyed by (seed, stream, element of the parameter): what optimizers write into
// bf16 without a master.
#include "backend/cpu/floats-inl.h"
#include "backend/cpu/philox-inl.h"

// Compiled once for every target.
#if defined(CAIRN_CPU_NOISE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CAIRN_CPU_NOISE_INL_H
#undef CAIRN_CPU_NOISE_INL_H
#else
#define CAIRN_CPU_NOISE_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace cairn::cpu::HWY_NAMESPACE {

// Truncated after 16 random bits were added below the last place; infinities and NaN stay.
HWY_INLINE V32 round_at_random(V32 value, W32 noise) {
  const U32 words;
  const auto bits = hn::BitCast(words, value);
  const auto exponent = hn::Set(words, 0x7f800000u);
  const auto special = hn::Eq(hn::And(bits, exponent), exponent);
  const auto moved = hn::And(hn::Add(bits, noise), hn::Set(words, 0xffff0000u));
  return hn::BitCast(F32(), hn::IfThenElse(special, bits, moved));
}

// A weight takes the lower half of an element's noise.
HWY_INLINE V32 round_weight_at_random(V32 weight, W32 noise) {
  return round_at_random(weight, hn::And(noise, hn::Set(U32(), 0xffffu)));
}

// body(i, extent, noise) for the vectors of [begin, end), with the noise of settings.first + i. One
// vector of draws gives four vectors of noise; begin and settings.first are multiples of that.
template <typename Settings, typename Body>
HWY_INLINE void for_each_noisy_vector(const Settings& settings, int64_t begin, int64_t end,
                                      const Body& body) {
  uint32_t words[4 * hn::MaxLanes(U32())];
  const auto lanes = static_cast<int64_t>(hn::Lanes(U32()));
  for (int64_t i = begin; i < end; i += 4 * lanes) {
    philox_words(settings.seed, settings.stream, static_cast<uint64_t>((settings.first + i) / 4),
                 words);
    for_each_vector(i, std::min(end, i + 4 * lanes), [&](int64_t j, auto extent) HWY_ATTR {
      body(j, extent, hn::LoadU(U32(), words + (j - i)));
    });
  }
}

}  // namespace cairn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // CAIRN_CPU_NOISE_INL_H
