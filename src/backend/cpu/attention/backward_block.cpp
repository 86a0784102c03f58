// One backward block: a block of keys passes over the queries that see it, tile by tile, for all
// heads that read it. Scores are recomputed from the saved log-sum-exp; d_k and d_v gather in
// scratch, and each tile's part of d_q is added to d_q when its turn comes.
#include "backend/cpu/attention/blocks.h"
#include "backend/cpu/attention/query_tile.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/attention/backward_block.cpp"
#include "backend/cpu/simd_targets.h"
// clang-format off
#include "hwy/foreach_target.h"
#include "backend/cpu/attention/gradient-inl.h"
#include "backend/cpu/attention/tiles-inl.h"
// clang-format on
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace cairn::cpu::HWY_NAMESPACE {
namespace attention {

class Backward {
 public:
  Backward(const BackwardBlock& block, const Turn& turn, float* scratch)
      : block_(block),
        turn_(turn),
        head_dim_(block.shape.head_dim),
        padded_(padded_head(head_dim_)),
        stride_(scratch_stride(head_dim_)),
        vectors_(vectors_of(head_dim_)),
        group_(block.shape.heads / block.shape.kv_heads) {
    const auto take = [&](int64_t floats) {
      float* const taken = scratch;
      scratch += floats;
      return taken;
    };
    keys_across_ = take(kBackwardKeys * padded_);
    values_across_ = take(kBackwardKeys * padded_);
    keys_ = take(kBackwardKeys * stride_);
    d_keys_ = take(kBackwardKeys * stride_);
    d_values_ = take(kBackwardKeys * stride_);
    queries_ = take(kBackwardQueries * stride_);
    d_out_ = take(kBackwardQueries * stride_);
    d_queries_ = take(kBackwardQueries * stride_);
    powers_ = take(kBackwardQueries * kBackwardKeys);
    d_scores_ = take(kBackwardQueries * kBackwardKeys);
  }

  void run() {
    begin();
    const int64_t window = block_.shape.window;
    const QueryTile all{0, block_.queries, block_.visible, window};
    const int64_t tiles = ceil_div(all.end_row(block_.keys - 1), kBackwardQueries);
    // A block that starts d_q does so for queries that see no key, too.
    for (int64_t i = block_.starts ? 0 : all.first_row(0) / kBackwardQueries; i < tiles; ++i) {
      const int64_t first = i * kBackwardQueries;
      const QueryTile tile{first, std::min(kBackwardQueries, block_.queries - first),
                           block_.visible + first, window};
      for (int64_t head = 0; head < group_; ++head) {
        add_tile(tile, block_.kv_head * group_ + head);
        if (head == 0) turn_.wait(i);
        add_d_queries(tile, block_.kv_head * group_ + head);
      }
      turn_.finished(i);
    }
    if (!started_) {
      std::fill(d_keys_, d_keys_ + block_.keys * stride_, 0.0f);
      std::fill(d_values_, d_values_ + block_.keys * stride_, 0.0f);
    }
    write(d_keys_, block_.d_k);
    write(d_values_, block_.d_v);
  }

 private:
  int64_t key_element() const {
    return (block_.key_row * block_.shape.kv_heads + block_.kv_head) * head_dim_;
  }
  int64_t query_element(int64_t query, int64_t head) const {
    return ((block_.query_row + query) * block_.shape.heads + head) * head_dim_;
  }

  void begin() {
    const AttentionShape& shape = block_.shape;
    // The place of d_values serves the values until they are transposed.
    load_rows(shape.k, key_element(), shape.key_stride(), block_.keys, head_dim_, keys_, stride_);
    load_rows(shape.v, key_element(), shape.key_stride(), block_.keys, head_dim_, d_values_,
              stride_);
    for (int64_t key = 0; key < block_.keys; key += kPanelWidth) {
      const int64_t count = std::min(kPanelWidth, block_.keys - key);
      transpose_panel(keys_ + key * stride_, stride_, count, head_dim_, shape.scale * kLog2E,
                      keys_across_ + key * padded_);
      transpose_panel(d_values_ + key * stride_, stride_, count, head_dim_, 1.0f,
                      values_across_ + key * padded_);
    }
  }

  // Adds one head's tile to d_keys and d_values, and leaves its part of d_q in scratch.
  void add_tile(const QueryTile& tile, int64_t head) {
    const AttentionShape& shape = block_.shape;
    const int64_t start = tile.first_row(0), stop = tile.end_row(block_.keys - 1);
    if (start >= stop) return;
    const int64_t from = query_element(tile.first, head), between = shape.query_stride();
    load_rows(shape.q, from, between, tile.count, head_dim_, queries_, stride_);
    load_rows(block_.d_out, from, between, tile.count, head_dim_, d_out_, stride_);

    for (int64_t key = 0; key < block_.keys; key += kPanelWidth) {
      const int64_t last = std::min(key + kPanelWidth, block_.keys) - 1;
      const auto score = [&](const float* rows, const float* panels, float* to) HWY_ATTR {
        for_each_strip(
            tile.first_row(key), tile.end_row(last), [&](int64_t row, int64_t count) HWY_ATTR {
              // The strip's first row sees the earliest key, its last row the latest.
              const int64_t hidden = std::max<int64_t>(0, tile.first_key(row, block_.keys) - key);
              const int64_t seen = tile.end_key(row + count - 1, block_.keys) - key;
              const int64_t first = hidden / kLanes;
              const int64_t end = std::min<int64_t>(kTileVectors, (seen + kLanes - 1) / kLanes);
              multiply_strip<false>({rows, stride_}, {panels + key * padded_, kPanelWidth},
                                    {to + key, kBackwardKeys}, row, count, first, end - first,
                                    {0, head_dim_});
            });
      };
      score(queries_, keys_across_, powers_);
      score(d_out_, values_across_, d_scores_);
    }
    for (int64_t row = start; row < stop; ++row) differentiate_row(tile, head, row);

    // The first tile starts the sums, also of keys that none of its queries sees.
    const Old old = started_ ? Old::keep : Old::none;
    started_ = true;
    const auto rows_that_see = [&](int64_t key, int64_t count) {
      return Depth{tile.first_row(key), tile.end_row(key + count - 1)};
    };
    multiply<true>({powers_, kBackwardKeys}, {d_out_, stride_}, {d_values_, stride_, old}, 0,
                   block_.keys, vectors_, rows_that_see);
    multiply<true>({d_scores_, kBackwardKeys}, {queries_, stride_}, {d_keys_, stride_, old}, 0,
                   block_.keys, vectors_, rows_that_see);
    multiply<false>({d_scores_, kBackwardKeys}, {keys_, stride_}, {d_queries_, stride_}, start,
                    stop, vectors_, [&](int64_t row, int64_t count) {
                      return Depth{tile.first_key(row, block_.keys),
                                   tile.end_key(row + count - 1, block_.keys)};
                    });
  }

  HWY_INLINE void differentiate_row(const QueryTile& tile, int64_t head, int64_t row) {
    const AttentionShape& shape = block_.shape;
    const int64_t index = (block_.query_row + tile.first + row) * shape.heads + head;
    const GradientRow gradient{powers_ + row * kBackwardKeys,
                               d_scores_ + row * kBackwardKeys,
                               tile.first_key(row, block_.keys),
                               tile.end_key(row, block_.keys),
                               block_.keys,
                               block_.log_sum_exp[index],
                               block_.delta[index],
                               shape.scale,
                               shape.softcap};
    if (shape.softcap != 0)
      differentiate<true>(gradient);
    else
      differentiate<false>(gradient);
  }

  void add_d_queries(const QueryTile& tile, int64_t head) {
    const int64_t start = tile.first_row(0), stop = tile.end_row(block_.keys - 1);
    for (int64_t row = block_.starts ? 0 : start; row < stop; ++row) {
      float* HWY_RESTRICT to = block_.d_q + query_element(tile.first + row, head);
      const float* part = d_queries_ + row * stride_;
      if (row < start) {
        std::fill(to, to + head_dim_, 0.0f);
      } else if (block_.starts) {
        store_row<false>(part, head_dim_, to);
      } else {
        store_row<true>(part, head_dim_, to);
      }
    }
  }

  void write(const float* rows, float* to) const {
    for (int64_t key = 0; key < block_.keys; ++key)
      store_row<false>(rows + key * stride_, head_dim_,
                       to + key_element() + key * block_.shape.key_stride());
  }

  const BackwardBlock& block_;
  const Turn& turn_;
  const int64_t head_dim_, padded_, stride_, vectors_, group_;
  float *keys_across_, *values_across_, *keys_, *d_keys_, *d_values_;
  float *queries_, *d_out_, *d_queries_, *powers_, *d_scores_;
  bool started_ = false;  // d_keys_ and d_values_ hold sums
};

}  // namespace attention

void attention_backward_block(const BackwardBlock& block, const Turn& turn, float* scratch) {
  attention::Backward(block, turn, scratch).run();
}

void attention_delta(FloatsIn out, FloatsIn d_out, int64_t head_dim, int64_t begin, int64_t end,
                     float* delta) {
  for (int64_t row = begin; row < end; ++row)
    delta[row] = sum_of(head_dim, [&](int64_t i, auto extent) HWY_ATTR {
      return hn::Mul(load(out, row * head_dim + i, extent),
                     load(d_out, row * head_dim + i, extent));
    });
}

}  // namespace cairn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cairn::cpu {
HWY_EXPORT(attention_backward_block);
HWY_EXPORT(attention_delta);
void attention_backward_block(const BackwardBlock& block, const Turn& turn, float* scratch) {
  HWY_DYNAMIC_DISPATCH(attention_backward_block)(block, turn, scratch);
}
void attention_delta(FloatsIn out, FloatsIn d_out, int64_t head_dim, int64_t begin, int64_t end,
                     float* delta) {
  HWY_DYNAMIC_DISPATCH(attention_delta)(out, d_out, head_dim, begin, end, delta);
}
}  // namespace cairn::cpu
#endif
