// Rounding an f32 to bf16 at random, up as often as the part that is cut off says.
#pragma once

#include "numeric/bfloat16.h"

namespace cairn::reference {

// `noise` holds 16 uniform bits. What is not finite rounds to nearest.
inline bf16 to_bf16_at_random(float value, uint32_t noise) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7f800000u) == 0x7f800000u) return to_bf16(value);
  return {static_cast<uint16_t>((bits + (noise & 0xffffu)) >> 16)};
}

}  // namespace cairn::reference
