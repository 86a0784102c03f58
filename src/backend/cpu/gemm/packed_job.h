// What the threads of one packed product share: where the operands lie, the block sizes and the cut
// of the scratch. Free of any instruction set. Block sizes belong to the target, never to a shape.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/bytes.h"

namespace cairn::cpu {

constexpr int64_t kDepthBlock = 384;    // depth of a panel; one chain of multiply-adds
constexpr int64_t kColumnBlock = 768;   // columns of the packed block of b: 1.1 MiB, lives in L2
constexpr int64_t kRowBlock = 96;       // rows of a packed block of a, one per thread
constexpr int64_t kPartialRows = 1024;  // rows whose f32 partial sums wait when c is bf16
constexpr int64_t kFoldRank = 256;      // ranks of a low-rank term taken at once
constexpr int64_t kMaxPanelWidth = 48;
constexpr int64_t kMaxStripHeight = 8;

// One stored operand. depth_major: element (x, k) lies at k * stride + x, else at x * stride + k.
struct Operand {
  const std::byte* data = nullptr;
  bool bf16 = false;
  bool depth_major = false;
  int64_t stride = 0;
};

// A row-major matrix that an epilogue reads or writes.
struct Plane {
  std::byte* data = nullptr;
  bool bf16 = false;
  int64_t stride = 0;

  Plane at(int64_t row, int64_t column) const {
    return {data + (row * stride + column) * (bf16 ? 2 : 4), bf16, stride};
  }
};

// The scratch of a product: shared parts first, then one part a thread.
struct PackedScratch {
  float* b_block;   // [kDepthBlock, kColumnBlock], in panels
  float* partials;  // [kPartialRows, kColumnBlock]
  std::byte* threads;

  static constexpr int64_t kBBlock = kDepthBlock * kColumnBlock;
  static constexpr int64_t kPartials = kPartialRows * kColumnBlock;
  static constexpr int64_t kABlock = kRowBlock * kDepthBlock;
  static constexpr int64_t kFold = kFoldRank * (kMaxPanelWidth + kMaxStripHeight);
  static constexpr int64_t kAlignment = 64;

  static constexpr int64_t bytes(int threads) {
    return kAlignment + 4 * (kBBlock + kPartials + threads * (kABlock + kFold));
  }
  explicit PackedScratch(std::byte* scratch) {
    const auto address = reinterpret_cast<uintptr_t>(scratch);
    scratch += round_up(static_cast<int64_t>(address), kAlignment) - static_cast<int64_t>(address);
    b_block = reinterpret_cast<float*>(scratch);
    partials = b_block + kBBlock;
    threads = reinterpret_cast<std::byte*>(partials + kPartials);
  }
  float* a_block(int thread) const {
    return reinterpret_cast<float*>(threads) + thread * (kABlock + kFold);
  }
  float* fold(int thread) const { return a_block(thread) + kABlock; }
};

struct PackedJob {
  int64_t rows, columns, depth;
  Operand a, b;
  Plane c;
  Plane residual;  // data is null if there is none
  float alpha = 1;
  bool add_to_c = false;
  Operand fold_depth;    // (depth, rank): varies along the depth of a panel
  Operand fold_columns;  // (column, rank): varies along the columns of a panel
  int64_t fold_rank = 0;
  float fold_scale = 0;
  PackedScratch scratch;
};

// A contiguous share of `count` items: part `index` of `parts`, sizes differing by one at most.
struct Share {
  int64_t begin, end;
  Share(int64_t count, int64_t index, int64_t parts)
      : begin(count * index / parts), end(count * (index + 1) / parts) {}
};

// How a team cuts a block: `down` ways along strips of rows, `across` ways along panels of columns.
struct Grid {
  int down = 1, across = 1;
  Grid(int64_t strips, int64_t panels, int team) {
    int64_t best = INT64_MAX;
    for (int ways = team; ways >= 1; --ways) {
      const int other = team / ways;
      const int64_t work = ceil_div(strips, ways) * ceil_div(panels, other);
      if (work < best) best = work, down = ways, across = other;
    }
  }
};

}  // namespace cairn::cpu
