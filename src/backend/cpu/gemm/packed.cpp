// Packed matrix product: the loops over blocks, compiled once per instruction set, and the
// dispatch. Order of blocks: columns, depth, rows. A block of b is packed by the whole team, then
// every thread packs its rows of a and multiplies; partial sums stay f32 until the last block of
// depth.
#include "backend/cpu/gemm/packed.h"

#include <omp.h>

// Three instruction sets are enough: AVX-512, AVX2, and none.
#define HWY_DISABLED_TARGETS \
  (HWY_AVX3_DL | HWY_SSE4 | HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
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
// Part of a panel's depth that one thread packs at a time.
constexpr int64_t kDepthUnit = kDepthBlock / 4;

// One pass: a block of columns and a block of depth, for the rows [row, row + rows).
struct Pass {
  int64_t row, rows, column, columns, k, depth;
  Plane base, out;  // where the sums start from and go to, at (row, column)
};

// panel[k][j] += scale * sum over ranks of fold_depth(k, r) * fold_columns(j, r).
void add_fold(const PackedJob& job, int64_t column, int64_t columns, int64_t k, int64_t depth,
              float* panel, float* scratch) {
  float* narrow = scratch;                           // [rank][kStripHeight]
  float* wide = scratch + kFoldRank * kStripHeight;  // [rank][kPanelWidth]
  HWY_ALIGN float tile[kStripHeight * kPanelWidth];
  for (int64_t rank = 0; rank < job.fold_rank; rank += kFoldRank) {
    const int64_t ranks = HWY_MIN(kFoldRank, job.fold_rank - rank);
    pack<kPanelLanes, kPanelWidth>(job.fold_columns, column, columns, rank, ranks, wide, 0);
    for (int64_t strip = 0; strip < depth; strip += kStripHeight) {
      const int64_t height = HWY_MIN(kStripHeight, depth - strip);
      pack<kStripLanes, kStripHeight>(job.fold_depth, k + strip, height, rank, ranks, narrow, 0);
      multiply_any(narrow, wide, ranks, height, columns, tile);
      const Plane target{reinterpret_cast<std::byte*>(panel + strip * kPanelWidth), false,
                         kPanelWidth};
      finish(tile, height, columns, job.fold_scale, target, target);
    }
  }
}

// This thread's share of packing the block of b. Units of one panel's depth part, depth-major, so
// that a thread reads long runs of rows stored along the columns.
void pack_b(const PackedJob& job, const Pass& pass, int thread, int team) {
  const int64_t panels = ceil_div(pass.columns, kPanelWidth);
  const int64_t parts = HWY_MAX(ceil_div(pass.depth, kDepthUnit), int64_t{0});
  const Share share(panels * parts, thread, team);
  for (int64_t unit = share.begin; unit < share.end;) {
    const int64_t part = unit / panels, panel = unit % panels;
    const int64_t count = HWY_MIN(panels - panel, share.end - unit);
    const int64_t k = part * kDepthUnit, depth = HWY_MIN(kDepthUnit, pass.depth - k);
    const int64_t column = panel * kPanelWidth;
    const int64_t columns = HWY_MIN(count * kPanelWidth, pass.columns - column);
    float* to = job.scratch.b_block + panel * kPanelWidth * kDepthBlock + k * kPanelWidth;
    pack<kPanelLanes, kPanelWidth>(job.b, pass.column + column, columns, pass.k + k, depth, to,
                                   kPanelWidth * kDepthBlock);
    if (job.fold_rank > 0) {
      for (int64_t begin = 0; begin < columns; begin += kPanelWidth)
        add_fold(job, pass.column + column + begin, HWY_MIN(kPanelWidth, columns - begin),
                 pass.k + k, depth, to + begin * kDepthBlock, job.scratch.fold(thread));
    }
    unit += count;
  }
}

// This thread's rows times its panels.
void multiply_block(const PackedJob& job, const Pass& pass, int thread, int team) {
  HWY_ALIGN float tile[kStripHeight * kPanelWidth];
  const int64_t strips = ceil_div(pass.rows, kStripHeight);
  const int64_t panels = ceil_div(pass.columns, kPanelWidth);
  const Grid grid(strips, panels, team);
  if (thread >= grid.down * grid.across) return;
  const Share my_strips(strips, thread / grid.across, grid.down);
  const Share my_panels(panels, thread % grid.across, grid.across);
  const int64_t row_end = HWY_MIN(my_strips.end * kStripHeight, pass.rows);
  float* a_block = job.scratch.a_block(thread);
  for (int64_t block = my_strips.begin * kStripHeight; block < row_end; block += kRowBlock) {
    const int64_t block_rows = HWY_MIN(kRowBlock, row_end - block);
    pack<kStripLanes, kStripHeight>(job.a, pass.row + block, block_rows, pass.k, pass.depth,
                                    a_block, kStripHeight * pass.depth);
    for (int64_t row = 0; row < block_rows; row += kStripHeight) {
      const int64_t height = HWY_MIN(kStripHeight, block_rows - row);
      for (int64_t panel = my_panels.begin; panel < my_panels.end; ++panel) {
        const int64_t column = panel * kPanelWidth;
        const int64_t width = HWY_MIN(kPanelWidth, pass.columns - column);
        multiply_any(a_block + row * pass.depth,
                     job.scratch.b_block + panel * kPanelWidth * kDepthBlock, pass.depth, height,
                     width, tile);
        const Plane out = pass.out.at(block + row, column);
        const Plane base = pass.base.data ? pass.base.at(block + row, column) : Plane{};
        finish(tile, height, width, job.alpha, base, out);
      }
    }
  }
}

// Where the sums of a block of depth start from and go to. Partial sums of a bf16 c wait in
// scratch.
Pass make_pass(const PackedJob& job, int64_t row, int64_t rows, int64_t column, int64_t k) {
  Pass pass{row,    rows,
            column, HWY_MIN(kColumnBlock, job.columns - column),
            k,      HWY_MIN(kDepthBlock, job.depth - k),
            {},     {}};
  const Plane c = job.c.at(row, column);
  const Plane waiting =
      job.c.bf16 ? Plane{reinterpret_cast<std::byte*>(job.scratch.partials), false, kColumnBlock}
                 : c;
  const bool last = k + kDepthBlock >= job.depth;
  pass.out = last ? c : waiting;
  if (k > 0)
    pass.base = waiting;
  else if (job.add_to_c)
    pass.base = c;
  else if (job.residual.data)
    pass.base = job.residual.at(row, column);
  return pass;
}

// What one thread of the team does. Every thread walks the same blocks and meets at the barriers.
void run_job(const PackedJob& job, int thread, int team) {
  const int64_t row_step = job.c.bf16 && job.depth > kDepthBlock ? kPartialRows : job.rows;
  for (int64_t row = 0; row < job.rows; row += row_step) {
    const int64_t rows = HWY_MIN(row_step, job.rows - row);
    for (int64_t column = 0; column < job.columns; column += kColumnBlock) {
      for (int64_t k = 0; k == 0 || k < job.depth; k += kDepthBlock) {
        const Pass pass = make_pass(job, row, rows, column, k);
        pack_b(job, pass, thread, team);
#pragma omp barrier
        multiply_block(job, pass, thread, team);
#pragma omp barrier
      }
    }
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
  return {view.data(), view.dtype() == DType::bf16, depth_major, view.columns()};
}

Plane plane(const std::byte* data, DType dtype, int64_t stride) {
  return {const_cast<std::byte*>(data), dtype == DType::bf16, stride};
}

}  // namespace

int64_t packed_gemm_scratch_bytes(int threads) { return PackedScratch::bytes(threads); }

void packed_gemm(const Gemm& gemm, int threads, std::byte* scratch) {
  const int64_t rows = gemm.c.shape()[0], columns = gemm.c.shape()[1];
  if (rows == 0 || columns == 0) return;
  const int64_t depth = gemm.transpose_a ? gemm.a.shape()[0] : gemm.a.shape()[1];
  PackedJob job{.rows = rows,
                .columns = columns,
                .depth = depth,
                .a = operand(gemm.a, gemm.transpose_a),
                .b = operand(gemm.b, !gemm.transpose_b),
                .c = plane(gemm.c.data(), gemm.c.dtype(), columns),
                .residual = plane(gemm.residual.data(), gemm.residual.dtype(), columns),
                .alpha = gemm.alpha,
                .add_to_c = gemm.beta != 0,
                .fold_depth = {},
                .fold_columns = {},
                .fold_rank = 0,
                .fold_scale = gemm.fold.scale,
                .scratch = PackedScratch(scratch)};
  if (gemm.fold.scale != 0) {
    // up runs along the rows of stored b, down along its columns; rank is the depth of both.
    const Operand up = operand(gemm.fold.up, false), down = operand(gemm.fold.down, true);
    job.fold_rank = gemm.fold.up.columns();
    job.fold_depth = gemm.transpose_b ? down : up;
    job.fold_columns = gemm.transpose_b ? up : down;
  }
  const int team = rows * columns * (depth + 1) < kTeamWork ? 1 : threads;
#pragma omp parallel num_threads(team)
  HWY_DYNAMIC_DISPATCH(run_job)(job, omp_get_thread_num(), omp_get_num_threads());
}

}  // namespace cairn::cpu
#endif
