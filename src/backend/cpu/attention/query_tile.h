// QueryTile: a tile of queries before a block of keys, and which of each other they see.
#pragma once

#include <algorithm>
#include <cstdint>

namespace cairn::cpu {

struct QueryTile {
  int64_t first, count;  // queries [first, first + count) of the segment
  int64_t visible;       // its first query sees keys of the block below this one; may be negative
  int64_t window;        // and of those the last so many

  // The keys [first_key, end_key) of the block (of `keys`) that a row of the tile sees.
  int64_t first_key(int64_t row, int64_t keys) const {
    return std::clamp<int64_t>(visible + row - window, 0, keys);
  }
  int64_t end_key(int64_t row, int64_t keys) const {
    return std::clamp<int64_t>(visible + row, 0, keys);
  }
  // The rows [first_row, end_row) that see the key, within the tile.
  int64_t first_row(int64_t key) const { return std::clamp<int64_t>(key - visible + 1, 0, count); }
  int64_t end_row(int64_t key) const {
    return std::clamp<int64_t>(key - visible + 1 + window, 0, count);
  }
};

}  // namespace cairn::cpu
