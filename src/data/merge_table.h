// MergeTable: which two adjacent tokens merge, how early, and into what. Open addressing, at most
// half full, so that a miss costs one or two probes.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cairn {

struct Merge {
  static constexpr uint32_t kNone = UINT32_MAX;
  uint32_t rank = kNone;  // lower ranks merge first
  int32_t id = -1;        // of the merged token
};

class MergeTable {
 public:
  // For up to `count` pairs.
  explicit MergeTable(size_t count)
      : slots_(std::bit_ceil(2 * count + 2)), shift_(64 - std::countr_zero(slots_.size())) {}

  // Rank kNone when the two do not merge.
  Merge find(int32_t left, int32_t right) const { return slots_[slot_of(left, right)].merge; }
  // Of a pair written twice the last rank holds, as in the Hugging Face library.
  void add(int32_t left, int32_t right, Merge merge) {
    slots_[slot_of(left, right)] = {key_of(left, right), merge};
  }

 private:
  struct Slot {
    uint64_t key = 0;
    Merge merge;
  };
  static uint64_t key_of(int32_t left, int32_t right) {
    return (uint64_t{static_cast<uint32_t>(left)} << 32) | static_cast<uint32_t>(right);
  }
  // Where the pair is, or would go. Fibonacci hashing: the high bits of the product mix best.
  size_t slot_of(int32_t left, int32_t right) const {
    const uint64_t key = key_of(left, right);
    size_t at = static_cast<size_t>((key * 0x9E3779B97F4A7C15) >> shift_);
    while (slots_[at].merge.rank != Merge::kNone && slots_[at].key != key)
      at = (at + 1) & (slots_.size() - 1);
    return at;
  }

  std::vector<Slot> slots_;
  int shift_;
};

}  // namespace cairn
