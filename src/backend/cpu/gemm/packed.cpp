// Packed matrix product: the loops over blocks, compiled once per instruction set, and the
// dispatch. A thread owns a tile of c; it goes through the depth block by block, packs its columns
// of b, then packs and multiplies its rows of a. Sums stay f32 until the last block of depth.
#include "backend/cpu/gemm/packed.h"

#include <omp.h>

#include <atomic>

#include "backend/cpu/gemm/gemm.h"
#include "backend/cpu/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/gemm/packed.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.
#include "backend/cpu/gemm/packed_job.h"
#include "backend/cpu/gemm/packed_kernel-inl.h"
#include "backend/cpu/gemm/packed_pack-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace cairn::cpu::HWY_NAMESPACE {

constexpr size_t kPanelLanes = static_cast<size_t>(kLanes);
constexpr size_t kStripLanes = static_cast<size_t>(HWY_MIN(kLanes, kStripHeight));
// Depth of a part of a panel that stays in the first cache.
constexpr int64_t kDepthPart = kDepthBlock / 4;
static_assert(kFewRows % kStripHeight == 0 && kFewRows <= kRowBlock);

// One tile of c and one block of depth.
struct Pass {
  int64_t row, rows, column, columns, k, depth;
  Plane base, out;  // where the sums start from and go to, at (row, column)
};

// panel[k][j] += scale * sum over ranks of fold_depth(k, r) * fold_columns(j, r).
void add_fold(const PackedJob& job, int64_t column, int64_t columns, int64_t k, int64_t depth,
              float* panel, float* scratch) {
  HWY_ALIGN float tile[kStripHeight * kPanelWidth];
  float* narrow = scratch;                           // [rank][kStripHeight]
  float* wide = scratch + kFoldRank * kStripHeight;  // [rank][kPanelWidth]
  for (int64_t rank = 0; rank < job.fold_rank; rank += kFoldRank) {
    const int64_t ranks = HWY_MIN(kFoldRank, job.fold_rank - rank);
    pack<kPanelLanes, kPanelWidth>(job.fold_columns, column, columns, rank, ranks, wide, 0);
    for (int64_t strip = 0; strip < depth; strip += kStripHeight) {
      const int64_t height = HWY_MIN(kStripHeight, depth - strip);
      pack<kStripLanes, kStripHeight>(job.fold_depth, k + strip, height, rank, ranks, narrow, 0);
      multiply_any(narrow, wide, ranks, height, columns, false, tile);
      const Plane target{reinterpret_cast<std::byte*>(panel + strip * kPanelWidth), false,
                         kPanelWidth};
      finish(tile, height, columns, job.fold_scale, target, target);
    }
  }
}

// Panels of columns of b, `panel_stride` floats apart, with the low-rank term.
void pack_b(const PackedJob& job, int64_t column, int64_t columns, int64_t k, int64_t depth,
            float* to, int64_t panel_stride, float* fold_scratch) {
  pack<kPanelLanes, kPanelWidth>(job.b, column, columns, k, depth, to, panel_stride);
  if (job.fold_rank == 0) return;
  for (int64_t begin = 0; begin < columns; begin += kPanelWidth)
    add_fold(job, column + begin, HWY_MIN(kPanelWidth, columns - begin), k, depth,
             to + begin / kPanelWidth * panel_stride, fold_scratch);
}

// alpha * sums on top of what they start from; (row, column) counts from the tile's corner.
HWY_INLINE void finish_at(const PackedJob& job, const Pass& pass, const float* sums, int64_t row,
                          int64_t rows, int64_t column, int64_t columns) {
  const Plane base = pass.base.data ? pass.base.at(row, column) : Plane{};
  finish(sums, rows, columns, job.alpha, base, pass.out.at(row, column));
}

// b is packed once, a block of rows at a time is packed and multiplied with it.
void multiply_tile(const PackedJob& job, const Pass& pass, const PackedScratch& scratch) {
  HWY_ALIGN float sums[kStripHeight * kPanelWidth];
  const int64_t panel_stride = kPanelWidth * pass.depth;
  pack_b(job, pass.column, pass.columns, pass.k, pass.depth, scratch.b_block, panel_stride,
         scratch.fold);
  for (int64_t block = 0; block < pass.rows; block += kRowBlock) {
    const int64_t block_rows = HWY_MIN(kRowBlock, pass.rows - block);
    pack<kStripLanes, kStripHeight>(job.a, pass.row + block, block_rows, pass.k, pass.depth,
                                    scratch.a_block, kStripHeight * pass.depth);
    for (int64_t row = 0; row < block_rows; row += kStripHeight) {
      const int64_t rows = HWY_MIN(kStripHeight, block_rows - row);
      const float* strip = scratch.a_block + row * pass.depth;
      for (int64_t column = 0; column < pass.columns; column += kPanelWidth) {
        const int64_t columns = HWY_MIN(kPanelWidth, pass.columns - column);
        const float* panel = scratch.b_block + column / kPanelWidth * panel_stride;
        multiply_any(strip, panel, pass.depth, rows, columns, false, sums);
        finish_at(job, pass, sums, block + row, rows, column, columns);
      }
    }
  }
}

// A few rows use a panel too seldom to write it out: it is packed a part of its depth at a time,
// each multiplied while it is in the first cache.
void multiply_skinny_tile(const PackedJob& job, const Pass& pass, const PackedScratch& scratch) {
  HWY_ALIGN float sums[kFewRows * kPanelWidth];
  pack<kStripLanes, kStripHeight>(job.a, pass.row, pass.rows, pass.k, pass.depth, scratch.a_block,
                                  kStripHeight * pass.depth);
  for (int64_t column = 0; column < pass.columns; column += kPanelWidth) {
    const int64_t columns = HWY_MIN(kPanelWidth, pass.columns - column);
    for (int64_t k = 0; k == 0 || k < pass.depth; k += kDepthPart) {
      const int64_t depth = HWY_MIN(kDepthPart, pass.depth - k);
      pack_b(job, pass.column + column, columns, pass.k + k, depth, scratch.b_block, 0,
             scratch.fold);
      for (int64_t row = 0; row < pass.rows; row += kStripHeight)
        multiply_any(scratch.a_block + row * pass.depth + k * kStripHeight, scratch.b_block, depth,
                     HWY_MIN(kStripHeight, pass.rows - row), columns, k > 0,
                     sums + row * kPanelWidth);
    }
    finish_at(job, pass, sums, 0, pass.rows, column, columns);
  }
}

// Computes one tile of c, one block of depth after the other.
void run_tile(const PackedJob& job, const Tiling& tiling, int64_t tile,
              const PackedScratch& scratch) {
  const Share down(job.rows, kStripHeight, tile / tiling.across, tiling.down);
  const Share across(job.columns, kPanelWidth, tile % tiling.across, tiling.across);
  const Plane c = job.c.at(down.begin, across.begin);
  const Plane waiting =
      job.sums_wait() ? Plane{reinterpret_cast<std::byte*>(scratch.waiting), false, across.size}
                      : c;
  Pass pass{down.begin, down.size, across.begin, across.size, 0, 0, {}, {}};
  if (job.add_to_c)
    pass.base = c;
  else if (job.residual.data)
    pass.base = job.residual.at(down.begin, across.begin);
  for (int64_t k = 0; k == 0 || k < job.depth; k += kDepthBlock) {
    pass.k = k;
    pass.depth = HWY_MIN(kDepthBlock, job.depth - k);
    pass.out = k + kDepthBlock >= job.depth ? c : waiting;
    if (pass.rows <= kFewRows)
      multiply_skinny_tile(job, pass, scratch);
    else
      multiply_tile(job, pass, scratch);
    pass.base = waiting;
  }
}

// What one thread of the team does: takes tiles until none is left.
void run_job(const PackedJob& job, int team, std::atomic<int64_t>& next_tile,
             const PackedScratch& scratch) {
  const Tiling tiling(job, kStripHeight, kPanelWidth, team);
  for (;;) {
    const int64_t tile = next_tile.fetch_add(1, std::memory_order_relaxed);
    if (tile >= tiling.down * tiling.across) return;
    run_tile(job, tiling, tile, scratch);
  }
}

}  // namespace cairn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cairn::cpu {
namespace {

HWY_EXPORT(run_job);

// Products smaller than this run on the calling thread: waking a team costs microseconds.
constexpr int64_t kTeamWork = 1 << 18;

Operand operand(const ConstView& view, bool depth_major) {
  return {view.data(), view.dtype(), depth_major, view.columns()};
}

Plane plane(const std::byte* data, DType dtype, int64_t stride) {
  return {const_cast<std::byte*>(data), dtype == DType::bf16, stride};
}

// A bias is a residual whose rows all lie in one place.
Plane base_plane(const Gemm& gemm, int64_t columns) {
  if (gemm.bias) return plane(gemm.bias.data(), gemm.bias.dtype(), 0);
  return plane(gemm.residual.data(), gemm.residual.dtype(), columns);
}

}  // namespace

int64_t packed_gemm_scratch_bytes(int threads) { return PackedScratch::bytes(threads); }

void packed_gemm(const Gemm& gemm, int threads, std::byte* scratch) {
  const int64_t rows = rows_of(gemm), columns = columns_of(gemm), depth = depth_of(gemm);
  if (rows == 0 || columns == 0) return;
  PackedJob job{.rows = rows,
                .columns = columns,
                .depth = depth,
                .a = operand(gemm.a, gemm.transpose_a),
                .b = operand(gemm.b, !gemm.transpose_b),
                .c = plane(gemm.c.data(), gemm.c.dtype(), columns),
                .residual = base_plane(gemm, columns),
                .alpha = gemm.alpha,
                .add_to_c = gemm.beta != 0,
                .fold_depth = {},
                .fold_columns = {},
                .fold_rank = 0,
                .fold_scale = gemm.fold.scale};
  if (gemm.b.dtype() == DType::u4) job.b.quant = &gemm.quant;
  if (gemm.fold.scale != 0) {
    // up runs along the rows of stored b, down along its columns; rank is the depth of both.
    const Operand up = operand(gemm.fold.up, false), down = operand(gemm.fold.down, true);
    job.fold_rank = gemm.fold.up.columns();
    job.fold_depth = gemm.transpose_b ? down : up;
    job.fold_columns = gemm.transpose_b ? up : down;
  }
  if (columns <= kFewRows && columns < rows && job.fold_rank == 0) job.transpose();
  const int team = rows * columns * (depth + 1) < kTeamWork ? 1 : threads;
  std::atomic<int64_t> next_tile{0};
#pragma omp parallel num_threads(team)
  HWY_DYNAMIC_DISPATCH(run_job)
  (job, omp_get_num_threads(), next_tile, PackedScratch(scratch, omp_get_thread_num()));
}

void packed_product(const PackedJob& job, std::byte* scratch) {
  if (job.rows == 0 || job.columns == 0) return;
  std::atomic<int64_t> next_tile{0};
  HWY_DYNAMIC_DISPATCH(run_job)(job, 1, next_tile, PackedScratch(scratch, 0));
}

}  // namespace cairn::cpu
#endif
