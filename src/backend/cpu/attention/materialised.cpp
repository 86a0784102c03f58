// Materialised attention as products: a segment's queries are taken in blocks, so that the scratch
// of a thread is a strip of the square; the square itself is only ever stored as probabilities.
#include "backend/cpu/attention/materialised.h"

#include "backend/cpu/attention/materialised_rows.h"
#include "backend/cpu/attention/segments.h"
#include "backend/cpu/gemm/packed.h"

namespace cairn::cpu {
namespace {

constexpr int64_t kBlockRows = 256;
constexpr float kLog2E = 1.44269504088896341f;

constexpr int64_t kProductBytes = round_up(PackedScratch::bytes(1), 64);

int64_t strip_stride(int64_t keys) { return round_up(keys, 16); }

int64_t thread_bytes(int64_t longest_segment) {
  return kProductBytes + kBlockRows * strip_stride(longest_segment) * int64_t{sizeof(float)};
}

// One head of a stored tensor [rows, heads, width], from `row` on.
struct HeadRows {
  ConstView view;
  int64_t row, head;

  int64_t stride() const { return view.shape()[1] * view.shape()[2]; }
  int64_t element() const { return row * stride() + head * view.shape()[2]; }
  bool is_bf16() const { return view.dtype() == DType::bf16; }
  std::byte* data() const {
    return const_cast<std::byte*>(view.data()) + element() * size_of(view.dtype());
  }
  // Read with its rows along the depth of a product, or along its rows or columns.
  Operand down() const { return {data(), view.dtype(), true, stride()}; }
  Operand across() const { return {data(), view.dtype(), false, stride()}; }
  Plane plane() const { return {data(), is_bf16(), stride()}; }
};

Operand operand(const float* strip, int64_t stride, bool depth_major) {
  return {reinterpret_cast<const std::byte*>(strip), DType::f32, depth_major, stride};
}

// A block of queries of one segment and head, and the scratch of the thread that has it.
struct QueryBlock {
  const Attention& attention;
  Segment segment;
  int64_t first, count;  // queries of the segment
  int64_t head;
  std::byte* scratch;

  int64_t head_dim() const { return attention.q.shape()[2]; }
  int64_t kv_head() const { return head / (attention.q.shape()[1] / attention.k.shape()[1]); }
  HeadRows of_queries(ConstView view) const { return {view, segment.query_row + first, head}; }
  HeadRows of_keys(ConstView view) const { return {view, segment.key_row, kv_head()}; }
  float* strip() const { return reinterpret_cast<float*>(scratch + kProductBytes); }

  ScoreRows score_rows() const {
    const int64_t visible = first + 1 + segment.keys - segment.queries;
    const int64_t window = attention.window > 0 ? attention.window : segment.keys;
    return {{first, count, visible, window},
            segment.keys,
            strip_stride(segment.keys),
            attention.softcap};
  }

  // c [rows, columns] = alpha * a * b, or c +=.
  void multiply(int64_t rows, int64_t columns, int64_t depth, Operand a, Operand b, Plane c,
                float alpha = 1, bool add_to_c = false) const {
    const PackedJob job{.rows = rows,
                        .columns = columns,
                        .depth = depth,
                        .a = a,
                        .b = b,
                        .c = c,
                        .residual = {},
                        .alpha = alpha,
                        .add_to_c = add_to_c,
                        .fold_depth = {},
                        .fold_columns = {}};
    packed_product(job, scratch);
  }

  // strip [count, keys] = alpha * rows of `queries` times rows of `keys`.
  void multiply_rows(ConstView queries, ConstView keys, float alpha, float* to) const {
    multiply(count, segment.keys, head_dim(), of_queries(queries).across(), of_keys(keys).across(),
             {reinterpret_cast<std::byte*>(to), false, strip_stride(segment.keys)}, alpha);
  }
  void score(float* to) const {
    multiply_rows(attention.q, attention.k, attention.scale * kLog2E, to);
  }
};

void forward_block(const QueryBlock& block, View out, View probabilities) {
  block.score(block.strip());
  const HeadRows rows = block.of_queries(probabilities);
  soften_rows(block.score_rows(), block.strip(), {probabilities, rows.element(), rows.stride()});
  block.multiply(block.count, block.head_dim(), block.segment.keys, rows.across(),
                 block.of_keys(block.attention.v).down(), block.of_queries(out).plane());
}

struct Gradients {
  View d_q, d_k, d_v;
};

// `adds`: an earlier block has started the sums of d_k and d_v.
void backward_block(const QueryBlock& block, ConstView probabilities, ConstView d_out, bool adds,
                    const Gradients& gradients) {
  const Attention& attention = block.attention;
  const int64_t count = block.count, keys = block.segment.keys, head_dim = block.head_dim();
  const ScoreRows score_rows = block.score_rows();
  float* const strip = block.strip();
  float* const scores = strip + count * score_rows.stride;
  block.multiply_rows(d_out, attention.v, 1, strip);
  if (attention.softcap != 0) block.score(scores);
  const HeadRows rows = block.of_queries(probabilities);
  differentiate_rows(score_rows, {probabilities, rows.element(), rows.stride()}, attention.scale,
                     scores, strip);
  block.multiply(keys, head_dim, count, rows.down(), block.of_queries(d_out).down(),
                 block.of_keys(gradients.d_v).plane(), 1, adds);
  block.multiply(keys, head_dim, count, operand(strip, score_rows.stride, true),
                 block.of_queries(attention.q).down(), block.of_keys(gradients.d_k).plane(), 1,
                 adds);
  block.multiply(count, head_dim, keys, operand(strip, score_rows.stride, false),
                 block.of_keys(attention.k).down(), block.of_queries(gradients.d_q).plane());
}

}  // namespace

int64_t attention_materialised_scratch_bytes(int threads, int64_t longest_segment) {
  return threads * thread_bytes(longest_segment);
}

void attention_materialised_forward(const Attention& attention, View out, View probabilities,
                                    int threads, std::byte* scratch) {
  const int64_t heads = attention.q.shape()[1];
  const int64_t bytes = thread_bytes(probabilities.shape()[2]);
  const auto tasks_of = [&](const Segment& segment) {
    return heads * ceil_div(segment.queries, kBlockRows);
  };
  for_each_task(attention, threads, tasks_of,
                [&](int64_t, const Segment& segment, int64_t within, int thread) {
                  const int64_t first = within / heads * kBlockRows;
                  const int64_t count = std::min(kBlockRows, segment.queries - first);
                  forward_block(
                      {attention, segment, first, count, within % heads, scratch + thread * bytes},
                      out, probabilities);
                });
}

void attention_materialised_backward(const Attention& attention, ConstView probabilities,
                                     ConstView d_out, View d_q, View d_k, View d_v, int threads,
                                     std::byte* scratch) {
  const int64_t kv_heads = attention.k.shape()[1], group = attention.q.shape()[1] / kv_heads;
  const int64_t bytes = thread_bytes(probabilities.shape()[2]);
  // Capped scores share the strip.
  const int64_t block_rows = attention.softcap != 0 ? kBlockRows / 2 : kBlockRows;
  for_each_task(
      attention, threads, [&](const Segment&) { return kv_heads; },
      [&](int64_t, const Segment& segment, int64_t kv_head, int thread) {
        for (int64_t head = kv_head * group; head < (kv_head + 1) * group; ++head)
          // A segment without queries has a block too, which clears its d_k and d_v.
          for (int64_t first = 0; first == 0 || first < segment.queries; first += block_rows) {
            const int64_t count = std::min(block_rows, segment.queries - first);
            const bool adds = head > kv_head * group || first > 0;
            backward_block({attention, segment, first, count, head, scratch + thread * bytes},
                           probabilities, d_out, adds, {d_q, d_k, d_v});
          }
      });
}

}  // namespace cairn::cpu
