// One forward block: the queries of up to four heads pass once over the keys they see, with an
// online softmax. Queries lie across the lanes, so maxima and sums of a row never leave their lane.
// Scores are kept in powers of two.
#include <cmath>
#include <limits>

#include "backend/cpu/attention/blocks.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/attention/forward_block.cpp"
#include "backend/cpu/simd_targets.h"
// clang-format off
#include "hwy/foreach_target.h"
#include "backend/cpu/attention/tiles-inl.h"
// clang-format on
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace cairn::cpu::HWY_NAMESPACE {
namespace attention {

// The running softmax of one panel of rows: each pointer holds kPanelWidth rows.
struct Softmax {
  const int32_t* visible;  // keys of the segment that the row sees
  float* maximum;
  float* sum;     // of powers, relative to maximum
  float* factor;  // by which this tile shrinks what was summed before
};

// scores [keys][kPanelWidth] of a tile become powers relative to the new maxima; keys that a row
// does not see become 0.
template <int kVectors, bool kMasked>
HWY_INLINE void soften(float* HWY_RESTRICT scores, int64_t keys, int64_t first_key, Softmax rows) {
  const Floats d;
  const hn::RebindToSigned<Floats> integers;
  const Vector lowest = hn::Set(d, std::numeric_limits<float>::lowest());
  const auto hidden = [&](int v, int64_t key) HWY_ATTR {
    const auto limit = hn::LoadU(integers, rows.visible + v * kLanes);
    const auto index = hn::Set(integers, static_cast<int32_t>(first_key + key));
    return hn::RebindMask(d, hn::Not(hn::Gt(limit, index)));
  };
  Vector maximum[kVectors], sum[kVectors];
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    maximum[v] = hn::LoadU(d, rows.maximum + v * kLanes);
    sum[v] = hn::Zero(d);
  }
  for (int64_t key = 0; key < keys; ++key) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      Vector score = hn::Load(d, scores + key * kPanelWidth + v * kLanes);
      if constexpr (kMasked) score = hn::IfThenElse(hidden(v, key), lowest, score);
      maximum[v] = hn::Max(maximum[v], score);
    }
  }
  for (int64_t key = 0; key < keys; ++key) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      float* at = scores + key * kPanelWidth + v * kLanes;
      Vector power = exp2(hn::Sub(hn::Load(d, at), maximum[v]));
      if constexpr (kMasked) power = hn::IfThenZeroElse(hidden(v, key), power);
      sum[v] = hn::Add(sum[v], power);
      hn::Store(power, d, at);
    }
  }
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    float* const row_sum = rows.sum + v * kLanes;
    const Vector factor = exp2(hn::Sub(hn::LoadU(d, rows.maximum + v * kLanes), maximum[v]));
    hn::StoreU(hn::MulAdd(hn::LoadU(d, row_sum), factor, sum[v]), d, row_sum);
    hn::StoreU(factor, d, rows.factor + v * kLanes);
    hn::StoreU(maximum[v], d, rows.maximum + v * kLanes);
  }
}

template <int kVectors>
HWY_NOINLINE void soften_tile(float* scores, int64_t keys, int64_t first_key, Softmax rows) {
  int32_t fewest = std::numeric_limits<int32_t>::max();
  for (int64_t row = 0; row < kVectors * kLanes; ++row)
    fewest = std::min(fewest, rows.visible[row]);
  if (fewest >= first_key + keys)
    soften<kVectors, false>(scores, keys, first_key, rows);
  else
    soften<kVectors, true>(scores, keys, first_key, rows);
}

HWY_INLINE void soften_any(int64_t vectors, float* scores, int64_t keys, int64_t first_key,
                           Softmax rows) {
  if constexpr (kTileVectors == 4) {
    if (vectors == 4) return soften_tile<4>(scores, keys, first_key, rows);
    if (vectors == 3) return soften_tile<3>(scores, keys, first_key, rows);
  }
  if (vectors == 2) return soften_tile<2>(scores, keys, first_key, rows);
  soften_tile<1>(scores, keys, first_key, rows);
}

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
    for (int64_t key = 0; key < seen; key += kForwardKeys) {
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
    for (int64_t row = 0; row < round_up(rows_, kPanelWidth); ++row) {
      visible_[row] = row < rows_ ? static_cast<int32_t>(sees(row % block_.queries)) : 0;
      maximum_[row] = std::numeric_limits<float>::lowest();
      sum_[row] = 0;
    }
    std::fill(sums_, sums_ + rows_ * stride_, 0.0f);
    for (int64_t first = 0; first < rows_; first += kPanelWidth) {
      const int64_t count = std::min(kPanelWidth, rows_ - first);
      // Runs of rows of one head; the place of the keys is still free.
      for (int64_t row = first; row < first + count;) {
        const int64_t head = row / block_.queries, query = row % block_.queries;
        const int64_t run = std::min(first + count - row, block_.queries - query);
        load_rows(shape.q, element(head, query), shape.query_stride(), run, head_dim_,
                  keys_ + (row - first) * stride_, stride_);
        row += run;
      }
      transpose_panel(keys_, stride_, count, head_dim_, shape.scale * kLog2E,
                      queries_ + first * padded_);
    }
  }

  void add_tile(int64_t key, int64_t count, int64_t row) {
    const int64_t height = std::min(kPanelWidth, rows_ - row);
    int32_t most = 0;
    for (int64_t i = 0; i < height; ++i) most = std::max(most, visible_[row + i]);
    const int64_t keys = std::min<int64_t>(count, most - key);
    if (keys <= 0) return;
    const int64_t lanes = (height + kLanes - 1) / kLanes;
    multiply<false>({keys_, stride_}, {queries_ + row * padded_, kPanelWidth},
                    {scores_, kPanelWidth}, 0, keys, lanes, [&](int64_t, int64_t) {
                      return Depth{0, head_dim_};
                    });
    soften_any(lanes, scores_, keys, key,
               {visible_ + row, maximum_ + row, sum_ + row, factor_ + row});
    multiply<true>({scores_, kPanelWidth}, {values_, stride_},
                   {sums_ + row * stride_, stride_, Old::scale, factor_ + row}, 0, height, vectors_,
                   [&](int64_t first, int64_t strip) {
                     int32_t strip_most = 0;
                     for (int64_t i = 0; i < strip; ++i)
                       strip_most = std::max(strip_most, visible_[row + first + i]);
                     return Depth{0, std::min<int64_t>(keys, strip_most - key)};
                   });
  }

  void finish() {
    for (int64_t row = 0; row < rows_; ++row) {
      const int64_t head = row / block_.queries, query = row % block_.queries;
      const bool empty = sum_[row] == 0;
      const Vector inverse = hn::Set(Floats(), empty ? 0.0f : 1.0f / sum_[row]);
      const float* sums = sums_ + row * stride_;
      const int64_t to = element(head, query);
      for_each_vector(0, head_dim_, [&](int64_t i, auto extent) HWY_ATTR {
        store(hn::Mul(hn::Load(Floats(), sums + i), inverse), block_.out, to + i, extent);
      });
      const double natural =
          (static_cast<double>(maximum_[row]) + std::log2(static_cast<double>(sum_[row]))) *
          0.69314718055994531;
      block_.log_sum_exp[to / head_dim_] =
          empty ? std::numeric_limits<float>::infinity() : static_cast<float>(natural);
    }
  }

  int64_t element(int64_t head, int64_t query) const {
    return ((block_.query_row + query) * block_.shape.heads + block_.first_head + head) * head_dim_;
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
