// What the threads of one packed product share: where the operands lie, the block sizes and the cut
// of the scratch. Free of any instruction set. Block sizes belong to the target, never to a shape.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "backend/kernels.h"
#include "base/bytes.h"

namespace cairn::cpu {

constexpr int64_t kDepthBlock = 384;    // depth of a panel: one chain of multiply-adds
constexpr int64_t kColumnBlock = 768;   // columns of a packed block of b: 1.1 MiB, lives in L2
constexpr int64_t kRowBlock = 96;       // rows of a packed block of a
constexpr int64_t kWaitingRows = 512;   // rows whose f32 sums wait when c is bf16
constexpr int64_t kFoldRank = 256;      // ranks of a low-rank term taken at once
constexpr int64_t kMaxPanelWidth = 48;  // of any instruction set
constexpr int64_t kMaxStripHeight = 8;
// So few rows are multiplied with b while it is being packed. A product of so few columns is
// computed transposed, since they would leave most of a vector idle.
constexpr int64_t kFewRows = 16;
// Packing one element costs about as much as so many multiply-adds.
constexpr int64_t kPackCost = 12;

// One stored operand. depth_major: element (x, k) lies at k * stride + x, else at x * stride + k.
struct Operand {
  const std::byte* data = nullptr;
  DType dtype = DType::f32;  // or bf16, u4
  bool depth_major = false;
  int64_t stride = 0;
  const QuantState* quant = nullptr;  // of u4
};

// A matrix that an epilogue reads or writes: element (row, column) lies at row * stride + column *
// step.
struct Plane {
  std::byte* data = nullptr;
  bool bf16 = false;
  int64_t stride = 0, step = 1;

  Plane at(int64_t row, int64_t column) const {
    return {data + (row * stride + column * step) * (bf16 ? 2 : 4), bf16, stride, step};
  }
};

// The scratch of one thread.
struct PackedScratch {
  static constexpr int64_t kBBlock = kDepthBlock * kColumnBlock;
  static constexpr int64_t kWaiting = kWaitingRows * kColumnBlock;
  static constexpr int64_t kABlock = kRowBlock * kDepthBlock;
  static constexpr int64_t kFold = kFoldRank * (kMaxPanelWidth + kMaxStripHeight);
  static constexpr int64_t kFloats = kBBlock + kWaiting + kABlock + kFold;
  static constexpr int64_t kAlignment = 64;
  static_assert(kBBlock % 16 == 0 && kWaiting % 16 == 0 && kABlock % 16 == 0 && kFold % 16 == 0);

  float* b_block;  // [kDepthBlock, kColumnBlock], in panels
  float* waiting;  // f32 sums of a tile of bf16 c between blocks of depth
  float* a_block;  // [kRowBlock, kDepthBlock], in strips
  float* fold;     // the factors of a low-rank term

  static constexpr int64_t bytes(int threads) { return kAlignment + 4 * kFloats * threads; }
  PackedScratch(std::byte* scratch, int thread) {
    const auto address = static_cast<int64_t>(reinterpret_cast<uintptr_t>(scratch));
    b_block = reinterpret_cast<float*>(scratch + round_up(address, kAlignment) - address) +
              thread * kFloats;
    waiting = b_block + kBBlock;
    a_block = waiting + kWaiting;
    fold = a_block + kABlock;
  }
};

// One product, as every thread of the team sees it.
struct PackedJob {
  int64_t rows, columns, depth;
  Operand a, b;
  Plane c;
  Plane residual;  // or bias; data is null if there is none
  float alpha = 1;
  bool add_to_c = false;
  Operand fold_depth;    // (depth, rank): varies along the depth of a panel
  Operand fold_columns;  // (column, rank): varies along the columns of a panel
  int64_t fold_rank = 0;
  float fold_scale = 0;

  // Whether f32 sums must wait in scratch until the last block of depth.
  bool sums_wait() const { return (c.bf16 || c.step != 1) && depth > kDepthBlock; }

  // The same product read as c^T = b^T * a^T: the same chain of multiply-adds for every element.
  void transpose() {
    std::swap(rows, columns);
    std::swap(a, b);
    std::swap(c.stride, c.step);
    std::swap(residual.stride, residual.step);
  }
};

// Part `index` of `count` items cut in `parts`, whole units each, sizes differing by one unit at
// most.
struct Share {
  int64_t begin, size;
  Share(int64_t count, int64_t unit, int64_t index, int64_t parts) {
    const int64_t units = ceil_div(count, unit);
    begin = units * index / parts * unit;
    size = std::min(units * (index + 1) / parts * unit, count) - begin;
  }
};

// How c is cut into tiles, `down` times `across`. A thread computes a tile on its own, packing what
// it needs, so that threads meet only at the end; the cut weighs idle threads against repeated
// packing.
struct Tiling {
  int64_t down = 1, across = 1;

  Tiling(const PackedJob& job, int64_t strip, int64_t panel, int team) {
    const int64_t strips = ceil_div(job.rows, strip), panels = ceil_div(job.columns, panel);
    const int64_t least_across = ceil_div(panels, kColumnBlock / panel);
    const int64_t step = std::max(1, team / 8);
    int64_t best = INT64_MAX;
    for (int64_t x = least_across; x <= std::min(panels, 2 * least_across + team); x += step) {
      const int64_t columns = ceil_div(panels, x) * panel;
      const int64_t most_rows = job.sums_wait() ? PackedScratch::kWaiting / columns : job.rows;
      const int64_t least_down = ceil_div(strips, std::max<int64_t>(1, most_rows / strip));
      for (int64_t y = least_down; y <= std::min(strips, least_down + team); y += step) {
        const int64_t rows = ceil_div(strips, y) * strip;
        const int64_t tile =
            rows * columns + kPackCost * rows + (kPackCost + job.fold_rank) * columns;
        const int64_t cost = ceil_div(x * y, team) * tile;
        if (cost < best) best = cost, down = y, across = x;
      }
    }
  }
};

}  // namespace cairn::cpu
