#include "files/block_decode_k.h"

#include <cstdint>
#include <cstring>

#include "numeric/bfloat16.h"

namespace cairn {
namespace {

constexpr int kPart = 32;  // elements that share a scale in Q4_K and Q5_K

float load_f16(const std::byte* from) {
  uint16_t half;
  std::memcpy(&half, from, sizeof(half));
  return f16_to_float(half);
}

// Eight scales and eight minima of 6 bits in 12 bytes: the first four of each as they are, the
// upper bits of the others in what those leave free.
struct Scales {
  float scale[8], minimum[8];

  Scales(const std::byte* in, float d, float d_minimum) {
    uint8_t q[12];
    std::memcpy(q, in, sizeof(q));
    for (int j = 0; j < 4; ++j) {
      scale[j] = d * static_cast<float>(q[j] & 63);
      minimum[j] = d_minimum * static_cast<float>(q[j + 4] & 63);
      scale[j + 4] = d * static_cast<float>((q[j + 8] & 15) | q[j] >> 6 << 4);
      minimum[j + 4] = d_minimum * static_cast<float>(q[j + 8] >> 4 | q[j + 4] >> 6 << 4);
    }
  }
};

// Part p of eight: nibbles of 32 bytes, low ones in even parts, high ones in odd parts, and bit p
// of `fifth` as a bit more if there is any.
void widen_parts(const Scales& scales, const uint8_t* nibbles, const uint8_t* fifth, float* out) {
  for (int part = 0; part < 8; ++part) {
    const uint8_t* bytes = nibbles + part / 2 * kPart;
    const int shift = part % 2 * 4;
    for (int j = 0; j < kPart; ++j) {
      int code = bytes[j] >> shift & 15;
      if (fifth) code |= (fifth[j] >> part & 1) << 4;
      out[part * kPart + j] = scales.scale[part] * static_cast<float>(code) - scales.minimum[part];
    }
  }
}

}  // namespace

// d, dmin (f16), 12 bytes of scales, 128 of nibbles.
void widen_q4_k(const std::byte* in, float* out) {
  uint8_t nibbles[kSuperBlock / 2];
  std::memcpy(nibbles, in + 16, sizeof(nibbles));
  widen_parts(Scales(in + 4, load_f16(in), load_f16(in + 2)), nibbles, nullptr, out);
}

// d, dmin (f16), 12 bytes of scales, 32 of fifth bits, 128 of nibbles.
void widen_q5_k(const std::byte* in, float* out) {
  uint8_t fifth[kSuperBlock / 8], nibbles[kSuperBlock / 2];
  std::memcpy(fifth, in + 16, sizeof(fifth));
  std::memcpy(nibbles, in + 48, sizeof(nibbles));
  widen_parts(Scales(in + 4, load_f16(in), load_f16(in + 2)), nibbles, fifth, out);
}

// 128 bytes of low nibbles, 64 of upper bit pairs, 16 signed scales, d (f16) at the end.
void widen_q6_k(const std::byte* in, float* out) {
  uint8_t low[kSuperBlock / 2], upper[kSuperBlock / 4];
  int8_t scales[kSuperBlock / 16];
  std::memcpy(low, in, sizeof(low));
  std::memcpy(upper, in + 128, sizeof(upper));
  std::memcpy(scales, in + 192, sizeof(scales));
  const float d = load_f16(in + 208);
  for (int half = 0; half < 2; ++half)
    for (int quarter = 0; quarter < 4; ++quarter)
      for (int j = 0; j < kPart; ++j) {
        // Quarters 0 and 1 are low nibbles, 2 and 3 the high ones of the same 64 bytes.
        const uint8_t byte = low[half * 64 + quarter % 2 * kPart + j];
        const int nibble = byte >> (quarter / 2 * 4) & 15;
        const int code = nibble | (upper[half * kPart + j] >> (quarter * 2) & 3) << 4;
        const float scale = d * static_cast<float>(scales[half * 8 + quarter * 2 + j / 16]);
        out[half * 128 + quarter * kPart + j] = scale * static_cast<float>(code - 32);
      }
}

}  // namespace cairn
