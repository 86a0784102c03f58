// One forward block: the queries of up to four heads pass once over the keys they see, with an
// online softmax. Queries lie across the lanes, so maxima and sums of a row never leave their lane.
// Scores are logarithms to base 2.
#include <limits>

#include "backend/cpu/attention/blocks.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/attention/forward_block.cpp"
#include "backend/cpu/simd_targets.h"
// clang-format off
#include "hwy/foreach_target.h"
#include "backend/cpu/attention/softmax-inl.h"
#include "backend/cpu/attention/tiles-inl.h"
// clang-format on
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace cairn::cpu::HWY_NAMESPACE {
namespace attention {

// The scratch of a block. Row r of the block is query r % queries of head r / queries.
class Forward {
 public:
  Forward(const ForwardBlock& block, float* scratch)
      : block_(block),
        head_dim_(block.shape.head_dim),
        padded_(padded_head(head_dim_)),
        stride_(scratch_stride(head_dim_)),
        vectors_(vectors_of(head_dim_)),
        rows_(block.heads * block.queries) {
    const auto take = [&](int64_t floats) {
      float* const taken = scratch;
      scratch += floats;
      return taken;
    };
    queries_ = take(kForwardRows * padded_);
    sums_ = take(kForwardRows * stride_);
    keys_ = take(kForwardKeys * stride_);
    values_ = take(kForwardKeys * stride_);
    scores_ = take(kForwardKeys * 64);
    maximum_ = take(kForwardRows);
    sum_ = take(kForwardRows);
    factor_ = take(kForwardRows);
    visible_ = reinterpret_cast<int32_t*>(take(kForwardRows));
  }

  void run() {
    begin();
    // The last query of a head sees the most keys.
    const int64_t seen = sees(block_.queries - 1);
    const AttentionShape& shape = block_.shape;
    const int64_t kv_head = block_.first_head / (shape.heads / shape.kv_heads);
    for (int64_t key = first_tile(0, rows_); key < seen; key += kForwardKeys) {
      const int64_t count = std::min(kForwardKeys, seen - key);
      const int64_t offset = (block_.key_row + key) * shape.key_stride() + kv_head * head_dim_;
      load_rows(shape.k, offset, shape.key_stride(), count, head_dim_, keys_, stride_);
      load_rows(shape.v, offset, shape.key_stride(), count, head_dim_, values_, stride_);
      for (int64_t row = 0; row < rows_; row += kPanelWidth) add_tile(key, count, row);
    }
    finish();
  }

 private:
  // Keys of the segment that a query of the block sees.
  int64_t sees(int64_t query) const {
    return std::clamp<int64_t>(block_.visible + query, 0, block_.keys);
  }

  void begin() {
    const AttentionShape& shape = block_.shape;
    const int64_t padded_rows = round_up(rows_, kPanelWidth);
    std::fill(maximum_, maximum_ + padded_rows, std::numeric_limits<float>::lowest());
    std::fill(sum_, sum_ + padded_rows, 0.0f);
    std::fill(visible_ + rows_, visible_ + padded_rows, 0);
    int32_t* visible = visible_;
    for (int64_t head = 0; head < block_.heads; ++head)
      for (int64_t query = 0; query < block_.queries; ++query)
        *visible++ = static_cast<int32_t>(sees(query));
    for (int64_t first = 0; first < rows_; first += kPanelWidth) {
      const int64_t count = std::min(kPanelWidth, rows_ - first);
      // Runs of rows of one head; the place of the keys is still free.
      for (int64_t row = first; row < first + count;) {
        const int64_t head = row / block_.queries, query = row % block_.queries;
        const int64_t run = std::min(first + count - row, block_.queries - query);
        load_rows(shape.q, row_index(head, query) * head_dim_, shape.query_stride(), run, head_dim_,
                  keys_ + (row - first) * stride_, stride_);
        row += run;
      }
      transpose_panel(keys_, stride_, count, head_dim_, shape.scale * kLog2E,
                      queries_ + first * padded_);
    }
  }

  void add_tile(int64_t key, int64_t count, int64_t row) {
    const int64_t height = std::min(kPanelWidth, rows_ - row);
    const int64_t keys = std::min(count, most_visible(row, height) - key);
    const int64_t first_of_panel = first_tile(row, height);
    if (keys <= 0 || key < first_of_panel) return;
    const int64_t vectors = (height + kLanes - 1) / kLanes;
    int64_t most[kTileVectors], least[kTileVectors];
    for (int64_t v = 0; v < vectors; ++v) {
      most[v] = most_visible(row + v * kLanes, kLanes) - key;
      least[v] = first_visible(row + v * kLanes, kLanes) - key;
    }
    for_each_strip(0, keys, [&](int64_t strip, int64_t strip_keys) HWY_ATTR {
      // Queries from before the strip's keys, and those whose window is past them, have no score.
      int64_t first = 0, end = vectors;
      while (first + 1 < vectors && most[first] <= strip) ++first;
      while (end > first + 1 && least[end - 1] >= strip + strip_keys) --end;
      multiply_strip<false>({keys_, stride_}, {queries_ + row * padded_, kPanelWidth},
                            {scores_, kPanelWidth}, strip, strip_keys, first, end - first,
                            {0, head_dim_});
    });
    const AttentionShape& shape = block_.shape;
    if (shape.softcap != 0) cap_scores(scores_, keys, vectors, shape.softcap);
    soften_any(vectors, scores_, keys, key,
               {visible_ + row, static_cast<int32_t>(shape.window), maximum_ + row, sum_ + row,
                factor_ + row});
    // The first tile that a row of the panel sees starts the sums of all.
    const Old old = key == first_of_panel ? Old::none : Old::scale;
    multiply<true>({scores_, kPanelWidth}, {values_, stride_},
                   {sums_ + row * stride_, stride_, old, factor_ + row}, 0, height, vectors_,
                   [&](int64_t strip, int64_t strip_rows) {
                     const int64_t seen = most_visible(row + strip, strip_rows) - key;
                     const int64_t first = first_visible(row + strip, strip_rows) - key;
                     return Depth{std::max<int64_t>(0, first), std::min(keys, seen)};
                   });
  }

  // Keys below this one are all that a row of [row, row + count) sees.
  int64_t most_visible(int64_t row, int64_t count) const {
    return *std::max_element(visible_ + row, visible_ + row + count);
  }
  // The first key that a row of [row, row + count) sees.
  int64_t first_visible(int64_t row, int64_t count) const {
    if (block_.shape.window == AttentionShape::kUnlimited) return 0;
    const int64_t least = *std::min_element(visible_ + row, visible_ + row + count);
    return std::max<int64_t>(0, least - block_.shape.window);
  }
  int64_t first_tile(int64_t row, int64_t count) const {
    return first_visible(row, count) / kForwardKeys * kForwardKeys;
  }

  void finish() {
    const Floats d;
    // The place of maxima receives log_sum_exp, that of factors the inverse of the sums.
    for (int64_t row = 0; row < rows_; row += kLanes) {
      const Vector sum = hn::Load(d, sum_ + row);
      const auto empty = hn::Eq(sum, hn::Zero(d));
      const Vector natural =
          hn::MulAdd(hn::Load(d, maximum_ + row), hn::Set(d, kLn2), hn::Log(d, sum));
      const Vector infinity = hn::Set(d, std::numeric_limits<float>::infinity());
      hn::Store(hn::IfThenElse(empty, infinity, hn::IfThenElse(hn::IsNaN(sum), sum, natural)), d,
                maximum_ + row);
      hn::Store(hn::IfThenZeroElse(empty, hn::Div(hn::Set(d, 1.0f), sum)), d, factor_ + row);
    }
    for (int64_t head = 0, row = 0; head < block_.heads; ++head)
      for (int64_t query = 0; query < block_.queries; ++query, ++row)
        write(row, row_index(head, query));
  }

  // Row `row` of the block goes to row `index` of [tokens, heads].
  HWY_INLINE void write(int64_t row, int64_t index) {
    const Floats d;
    const float* sums = sums_ + row * stride_;
    const Vector inverse = hn::Set(d, factor_[row]);
    const bool empty = sum_[row] == 0;  // then its sums were never started
    for_each_vector(0, head_dim_, [&](int64_t i, auto extent) HWY_ATTR {
      const Vector value = empty ? hn::Zero(d) : hn::Mul(hn::Load(d, sums + i), inverse);
      store(value, block_.out, index * head_dim_ + i, extent);
    });
    block_.log_sum_exp[index] = maximum_[row];
  }

  int64_t row_index(int64_t head, int64_t query) const {
    return (block_.query_row + query) * block_.shape.heads + block_.first_head + head;
  }

  const ForwardBlock& block_;
  const int64_t head_dim_, padded_, stride_, vectors_, rows_;
  float *queries_, *sums_, *keys_, *values_, *scores_, *maximum_, *sum_, *factor_;
  int32_t* visible_;
};

}  // namespace attention

void attention_forward_block(const ForwardBlock& block, float* scratch) {
  attention::Forward(block, scratch).run();
}

}  // namespace cairn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cairn::cpu {
HWY_EXPORT(attention_forward_block);
void attention_forward_block(const ForwardBlock& block, float* scratch) {
  HWY_DYNAMIC_DISPATCH(attention_forward_block)(block, scratch);
}
}  // namespace cairn::cpu
#endif
