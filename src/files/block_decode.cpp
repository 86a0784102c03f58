#include "files/block_decode.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/error.h"
#include "files/block_decode_k.h"

namespace cairn {
namespace {

// Everything goes 32 elements at a time through registers: the trip count is a constant, so that
// the loops become vector code for any target.
constexpr int kRun = 32;
static_assert(sizeof(bf16) == 2);

template <typename T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

// As numeric's f16_to_float, without branches: the exponent is moved by a product, which also makes
// subnormals normal, and what was infinite or not a number gets its exponent back.
inline float widen_f16(uint16_t half) {
  const uint32_t magnitude = (half & 0x7fffu) << 13;
  const float scaled = std::bit_cast<float>(magnitude) * 0x1p112f;
  const uint32_t special = magnitude >= 0x0f800000u ? 0x7f800000u : 0u;
  const uint32_t sign = (half & 0x8000u) << 16;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(scaled) | special | sign);
}

// As numeric's to_bf16, without branches.
inline bf16 narrow(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1)) >> 16;
  const bool nan = (bits & 0x7fffffffu) > 0x7f800000u;
  return {static_cast<uint16_t>(nan ? (bits >> 16) | 0x40u : rounded)};
}

struct F32 {
  static constexpr int kBytes = 4;
  static void widen(const std::byte* in, float* out) { std::memcpy(out, in, kRun * kBytes); }
};

struct F16 {
  static constexpr int kBytes = 2;
  static void widen(const std::byte* in, float* out) {
    uint16_t halves[kRun];
    std::memcpy(halves, in, sizeof(halves));
    for (int j = 0; j < kRun; ++j) out[j] = widen_f16(halves[j]);
  }
};

struct Bf16 {
  static constexpr int kBytes = 2;
  static void widen(const std::byte* in, float* out) {
    uint16_t halves[kRun];
    std::memcpy(halves, in, sizeof(halves));
    for (int j = 0; j < kRun; ++j) out[j] = std::bit_cast<float>(uint32_t{halves[j]} << 16);
  }
};

struct F64 {
  static constexpr int kBytes = 8;
  static void widen(const std::byte* in, float* out) {
    for (int j = 0; j < kRun; ++j) out[j] = static_cast<float>(load<double>(in + j * kBytes));
  }
};

// Sixteen bytes hold 32 codes: the low nibbles are elements 0..15, the high ones 16..31; `fifth`
// holds one bit more of each element.
struct Nibbles {
  uint8_t bytes[kRun / 2];
  uint32_t fifth = 0;
  explicit Nibbles(const std::byte* in, uint32_t bits = 0) : fifth(bits) {
    std::memcpy(bytes, in, sizeof(bytes));
  }
  int low(int j) const { return (bytes[j] & 15) | static_cast<int>(fifth >> j & 1) << 4; }
  int high(int j) const {
    return bytes[j] >> 4 | static_cast<int>(fifth >> (j + kRun / 2) & 1) << 4;
  }
};

// (code - zero) * d.
void widen_centred(const Nibbles& codes, int zero, float d, float* out) {
  for (int j = 0; j < kRun / 2; ++j) {
    out[j] = static_cast<float>(codes.low(j) - zero) * d;
    out[j + kRun / 2] = static_cast<float>(codes.high(j) - zero) * d;
  }
}

// d (f16), nibbles.
void widen_q4_0(const std::byte* in, float* out) {
  widen_centred(Nibbles(in + 2), 8, f16_to_float(load<uint16_t>(in)), out);
}

// d (f16), fifth bits, nibbles.
void widen_q5_0(const std::byte* in, float* out) {
  widen_centred(Nibbles(in + 6, load<uint32_t>(in + 2)), 16, f16_to_float(load<uint16_t>(in)), out);
}

// d, m (f16), fifth bits, nibbles.
void widen_q5_1(const std::byte* in, float* out) {
  const float d = f16_to_float(load<uint16_t>(in)), m = f16_to_float(load<uint16_t>(in + 2));
  const Nibbles codes(in + 8, load<uint32_t>(in + 4));
  for (int j = 0; j < kRun / 2; ++j) {
    out[j] = static_cast<float>(codes.low(j)) * d + m;
    out[j + kRun / 2] = static_cast<float>(codes.high(j)) * d + m;
  }
}

// d, m (f16), 16 bytes of nibbles: the low ones are elements 0..15, the high ones 16..31.
void widen_q4_1(const std::byte* in, float* out) {
  const float d = f16_to_float(load<uint16_t>(in)), m = f16_to_float(load<uint16_t>(in + 2));
  uint8_t nibbles[kRun / 2];
  std::memcpy(nibbles, in + 4, sizeof(nibbles));
  for (int j = 0; j < kRun / 2; ++j) {
    out[j] = static_cast<float>(nibbles[j] & 15) * d + m;
    out[j + kRun / 2] = static_cast<float>(nibbles[j] >> 4) * d + m;
  }
}

// d (f16), 32 signed bytes.
void widen_q8_0(const std::byte* in, float* out) {
  const float d = f16_to_float(load<uint16_t>(in));
  int8_t codes[kRun];
  std::memcpy(codes, in + 2, sizeof(codes));
  for (int j = 0; j < kRun; ++j) out[j] = static_cast<float>(codes[j]) * d;
}

void put(const float* run, float* out, int64_t count) {
  std::memcpy(out, run, static_cast<size_t>(count) * sizeof(float));
}

void put(const float* run, bf16* out, int64_t count) {
  bf16 narrowed[kRun];
  for (int j = 0; j < kRun; ++j) narrowed[j] = narrow(run[j]);
  std::memcpy(out, narrowed, static_cast<size_t>(count) * sizeof(bf16));
}

template <typename Plain, typename T>
void decode_plain(const std::byte* in, int64_t elements, T* out) {
  float run[kRun];
  int64_t at = 0;
  for (; at + kRun <= elements; at += kRun) {
    Plain::widen(in + at * Plain::kBytes, run);
    put(run, out + at, kRun);
  }
  if (at == elements) return;
  std::byte rest[kRun * Plain::kBytes] = {};
  std::memcpy(rest, in + at * Plain::kBytes, static_cast<size_t>((elements - at) * Plain::kBytes));
  Plain::widen(rest, run);
  put(run, out + at, elements - at);
}

// `Elements` of one block at a time, whole runs.
template <int Elements, void (*Widen)(const std::byte*, float*), typename T>
void decode_runs(FileType type, const std::byte* in, int64_t elements, T* out) {
  CAIRN_CHECK(elements % Elements == 0,
              "[decode_blocks] wanted whole blocks of {}, got {} elements", name_of(type),
              elements);
  float block[Elements];
  for (int64_t at = 0; at < elements; at += Elements) {
    Widen(in + at / Elements * block_bytes(type), block);
    for (int run = 0; run < Elements; run += kRun) put(block + run, out + at + run, kRun);
  }
}

template <typename T>
void decode(FileType type, const std::byte* in, int64_t elements, T* out) {
  switch (type) {
    case FileType::f32:
      return decode_plain<F32>(in, elements, out);
    case FileType::f16:
      return decode_plain<F16>(in, elements, out);
    case FileType::bf16:
      return decode_plain<Bf16>(in, elements, out);
    case FileType::f64:
      return decode_plain<F64>(in, elements, out);
    case FileType::q4_0:
      return decode_runs<kRun, widen_q4_0>(type, in, elements, out);
    case FileType::q4_1:
      return decode_runs<kRun, widen_q4_1>(type, in, elements, out);
    case FileType::q5_0:
      return decode_runs<kRun, widen_q5_0>(type, in, elements, out);
    case FileType::q5_1:
      return decode_runs<kRun, widen_q5_1>(type, in, elements, out);
    case FileType::q8_0:
      return decode_runs<kRun, widen_q8_0>(type, in, elements, out);
    case FileType::q4_k:
      return decode_runs<kSuperBlock, widen_q4_k>(type, in, elements, out);
    case FileType::q5_k:
      return decode_runs<kSuperBlock, widen_q5_k>(type, in, elements, out);
    case FileType::q6_k:
      return decode_runs<kSuperBlock, widen_q6_k>(type, in, elements, out);
    default:
      CAIRN_CHECK(is_readable(type), "[decode_blocks] wanted a readable type, got {}",
                  name_of(type));
  }
}

}  // namespace

void decode_blocks(FileType type, const std::byte* in, int64_t elements, float* out) {
  decode(type, in, elements, out);
}

void decode_blocks(FileType type, const std::byte* in, int64_t elements, bf16* out) {
  decode(type, in, elements, out);
}

}  // namespace cairn
