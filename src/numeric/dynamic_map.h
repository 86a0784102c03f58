// The dynamic maps of 8-bit states (Dettmers, 2021): 256 values in [-1, 1] or [0, 1] that stand
// close together near 0, and the code of the nearest one. A map has 64 or 128 values in its top
// decade and half as many in each one below. Of two values that are equally near, the one with the
// even code counts, as in bitsandbytes' CUDA kernels.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace cairn {

// The value of every code, ascending. The signed map has +1 and no -1; its zero is code 127.
using DynamicMap = std::array<float, 256>;
const DynamicMap& signed_dynamic_map();
const DynamicMap& unsigned_dynamic_map();

inline constexpr int32_t kSignedZero = 127;

// A table that finds the rank of a magnitude in [0, 1] among the values of a map that are not
// negative, without a search. The upper 16 bits of an f32 are a cell: an octave cut into 128. No
// cell holds two borders between ranks, so the lower 16 bits beside one border decide.
class DynamicRanks {
 public:
  // The first cell; smaller magnitudes are of rank 0 in either map.
  static constexpr uint32_t kFirstCell = (127u - 23) << 7;
  static constexpr uint32_t kCells = (127u << 7) - kFirstCell + 1;
  static constexpr float kLeast = 0x1p-23f;

  // Throws CheckFailed if a cell would need two borders.
  explicit DynamicRanks(const DynamicMap& map);

  // Border in the lower half, the rank below it in the upper half (65535 stands for -1).
  const uint32_t* cells() const { return cells_.data(); }
  int32_t rank(float magnitude) const {
    if (!(magnitude > kLeast)) return 0;
    const auto bits = std::bit_cast<uint32_t>(magnitude);
    const uint32_t cell = cells_[(bits >> 16) - kFirstCell];
    const uint32_t above = (bits & 0xffffu) >= (cell & 0xffffu) ? 1 : 0;
    return static_cast<int32_t>(((cell >> 16) + above) & 0xffffu);
  }

 private:
  std::array<uint32_t, kCells> cells_;
};

const DynamicRanks& signed_dynamic_ranks();
const DynamicRanks& unsigned_dynamic_ranks();

}  // namespace cairn
