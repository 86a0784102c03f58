// The units of attention's parallel work, what each needs from scratch, and the SIMD functions that
// run one. Blocks count from the start of their segment, never of the call, so a segment's bits do
// not depend on its neighbours.
#pragma once

#include "backend/cpu/attention/turns.h"
#include "backend/cpu/floats.h"
#include "base/bytes.h"

namespace cairn::cpu {

// Forward: rows (queries of all heads of a block) that share one pass over keys, and keys of a
// tile.
inline constexpr int64_t kForwardRows = 256;
inline constexpr int64_t kForwardKeys = 64;
// Backward: keys of a block, and queries of the tiles it passes over.
inline constexpr int64_t kBackwardKeys = 128;
inline constexpr int64_t kBackwardQueries = 64;
// Heads of one forward block: those that share a key/value head, at most this many.
inline constexpr int64_t kForwardHeads = 4;

// Floats of a row in scratch: whole vectors of the widest target, and a line more so that rows do
// not meet in the same cache set.
constexpr int64_t padded_head(int64_t head_dim) { return round_up(head_dim, 16); }
constexpr int64_t scratch_stride(int64_t head_dim) { return padded_head(head_dim) + 16; }

constexpr int64_t forward_scratch_floats(int64_t head_dim) {
  return kForwardRows * padded_head(head_dim)           // queries, transposed
         + kForwardRows * scratch_stride(head_dim)      // sums of the output
         + 2 * kForwardKeys * scratch_stride(head_dim)  // keys, values
         + kForwardKeys * 64                            // scores of one panel
         + 4 * kForwardRows;                            // maximum, sum, factor, visible keys
}

constexpr int64_t backward_scratch_floats(int64_t head_dim) {
  return 2 * kBackwardKeys * padded_head(head_dim)          // keys, values, transposed
         + 3 * kBackwardKeys * scratch_stride(head_dim)     // keys, d_keys, d_values
         + 3 * kBackwardQueries * scratch_stride(head_dim)  // queries, d_out, d_queries
         + 2 * kBackwardQueries * kBackwardKeys;            // probabilities, d_scores
}

// What the blocks of one call share.
struct AttentionShape {
  // A window that hides nothing; indices of keys are 32-bit in SIMD.
  static constexpr int64_t kUnlimited = INT32_MAX;

  FloatsIn q, k, v;
  int64_t heads = 0, kv_heads = 0, head_dim = 0;
  float scale = 1;
  float softcap = 0;            // 0: none
  int64_t window = kUnlimited;  // keys that a query sees at most

  int64_t query_stride() const { return heads * head_dim; }
  int64_t key_stride() const { return kv_heads * head_dim; }
};

struct ForwardBlock {
  AttentionShape shape;
  FloatsOut out;
  float* log_sum_exp = nullptr;
  int64_t query_row = 0, queries = 0;  // first row in q, how many
  int64_t key_row = 0, keys = 0;       // the segment's
  int64_t first_head = 0, heads = 0;   // all of one key/value head
  int64_t visible = 0;                 // keys that the first query sees, each next one one more
};
void attention_forward_block(const ForwardBlock& block, float* scratch);

struct BackwardBlock {
  AttentionShape shape;
  const float* log_sum_exp = nullptr;
  FloatsIn d_out;  // f32
  const float* delta = nullptr;
  float* d_q = nullptr;
  float* d_k = nullptr;
  float* d_v = nullptr;
  int64_t query_row = 0, queries = 0;  // the segment's
  int64_t key_row = 0, keys = 0;       // of the block
  int64_t kv_head = 0;
  int64_t visible = 0;  // keys of the block that the segment's first query sees; may be negative
  bool starts = false;  // this block starts the sums of d_q; else they hold something, or 0
};
// `turn` orders the additions to d_q among the key blocks of a segment and head.
void attention_backward_block(const BackwardBlock& block, const Turn& turn, float* scratch);

// delta[row] = sum of d_out * out over rows [begin, end) of head_dim elements.
void attention_delta(FloatsIn out, FloatsIn d_out, int64_t head_dim, int64_t begin, int64_t end,
                     float* delta);

}  // namespace cairn::cpu
