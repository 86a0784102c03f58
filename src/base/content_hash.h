// ContentHash: 128 bits that tell contents apart, for the names of cached files. Not for secrets.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace cairn {

class ContentHash {
 public:
  // Each part counts with its length, so that "ab", "c" and "a", "bc" differ.
  ContentHash& add(std::string_view part) {
    mix(part.size());
    size_t at = 0;
    for (; at + 8 <= part.size(); at += 8) {
      uint64_t word;
      std::memcpy(&word, part.data() + at, 8);
      mix(word);
    }
    if (at < part.size()) {
      uint64_t word = 0;
      std::memcpy(&word, part.data() + at, part.size() - at);
      mix(word);
    }
    return *this;
  }
  ContentHash& add(int64_t number) {
    mix(static_cast<uint64_t>(number));
    return *this;
  }

  uint64_t word() const { return finished(a_ ^ std::rotl(b_, 32)); }
  // 32 hexadecimal digits.
  std::string hex() const {
    std::string text;
    for (const uint64_t half : {finished(a_), finished(b_)})
      for (int shift = 60; shift >= 0; shift -= 4) text += "0123456789abcdef"[(half >> shift) & 15];
    return text;
  }

 private:
  void mix(uint64_t word) {
    a_ = std::rotl((a_ ^ word) * 0x9E3779B97F4A7C15, 29);
    b_ = (std::rotl(b_, 31) + word) * 0xC2B2AE3D27D4EB4F;
  }
  static uint64_t finished(uint64_t h) {
    h = (h ^ (h >> 33)) * 0xFF51AFD7ED558CCD;
    h = (h ^ (h >> 33)) * 0xC4CEB9FE1A85EC53;
    return h ^ (h >> 33);
  }

  uint64_t a_ = 0x243F6A8885A308D3, b_ = 0x13198A2E03707344;
};

}  // namespace cairn
