// Counter-based random numbers (Philox 4x32, 10 rounds; Salmon et al., SC 2011). A stream is a pure
// function of its key, so the same under recomputation, packing and sharding.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

namespace cairn {

class Random {
 public:
  // The key: a seed and what the stream is for, e.g. (seed, parameter index).
  explicit Random(uint64_t seed, uint64_t stream = 0) : seed_(seed), stream_(stream) {}

  // The four words of draw `index`.
  std::array<uint32_t, 4> words(uint64_t index) const {
    uint32_t c0 = static_cast<uint32_t>(index), c1 = static_cast<uint32_t>(index >> 32);
    uint32_t c2 = static_cast<uint32_t>(stream_), c3 = static_cast<uint32_t>(stream_ >> 32);
    uint32_t k0 = static_cast<uint32_t>(seed_), k1 = static_cast<uint32_t>(seed_ >> 32);
    for (int round = 0; round < 10; ++round) {
      const uint64_t p0 = uint64_t{0xD2511F53} * c0, p1 = uint64_t{0xCD9E8D57} * c2;
      const uint32_t n0 = static_cast<uint32_t>(p1 >> 32) ^ c1 ^ k0;
      const uint32_t n2 = static_cast<uint32_t>(p0 >> 32) ^ c3 ^ k1;
      c1 = static_cast<uint32_t>(p1);
      c3 = static_cast<uint32_t>(p0);
      c0 = n0;
      c2 = n2;
      k0 += 0x9E3779B9;
      k1 += 0xBB67AE85;
    }
    return {c0, c1, c2, c3};
  }

  uint32_t word(uint64_t index) const { return words(index / 4)[index % 4]; }
  // Uniform in [0, 1) with 24 bits.
  float uniform(uint64_t index) const { return to_uniform(word(index)); }
  // Standard normal by Box-Muller.
  float normal(uint64_t index) const {
    const auto four = words(index / 2);  // holds uniform(2 * index) and the one after it
    const size_t at = 2 * (index % 2);
    const float u = 1.0f - to_uniform(four[at]), v = to_uniform(four[at + 1]);
    return std::sqrt(-2.0f * std::log(u)) * std::cos(6.283185307179586f * v);
  }
  // An integer in [0, bound), bound > 0.
  uint64_t below(uint64_t index, uint64_t bound) const {
    const auto w = words(index);
    return ((uint64_t{w[0]} << 32) | w[1]) % bound;
  }

 private:
  static float to_uniform(uint32_t word) {
    return static_cast<float>(word >> 8) * (1.0f / 16777216.0f);
  }

  uint64_t seed_;
  uint64_t stream_;
};

// A permutation of 0..count-1 (Fisher-Yates).
inline std::vector<int64_t> random_permutation(int64_t count, uint64_t seed, uint64_t stream) {
  std::vector<int64_t> order(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) order[static_cast<size_t>(i)] = i;
  const Random random(seed, stream);
  for (int64_t i = count - 1; i > 0; --i) {
    const auto j =
        static_cast<size_t>(random.below(static_cast<uint64_t>(i), static_cast<uint64_t>(i) + 1));
    std::swap(order[static_cast<size_t>(i)], order[j]);
  }
  return order;
}

}  // namespace cairn
