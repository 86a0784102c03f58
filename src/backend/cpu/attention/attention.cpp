// How attention is cut into blocks and shared among threads: each thread claims the next block, the
// longest of a segment first, so that one long sequence of few heads keeps every core busy.
#include "backend/cpu/attention/attention.h"

#include <new>

#include "backend/cpu/attention/blocks.h"
#include "backend/cpu/attention/segments.h"
#include "backend/cpu/parallel.h"

namespace cairn::cpu {
namespace {

int64_t scratch_bytes_of_thread(int64_t head_dim, bool backward) {
  const int64_t floats =
      backward ? backward_scratch_floats(head_dim) : forward_scratch_floats(head_dim);
  return round_up(floats * int64_t{sizeof(float)}, 64);
}

constexpr int64_t kTurnsBytes = round_up(sizeof(Turns), 64);

AttentionShape shape_of(const Attention& attention) {
  AttentionShape shape;
  shape.q = attention.q;
  shape.k = attention.k;
  shape.v = attention.v;
  shape.heads = attention.q.shape()[1];
  shape.kv_heads = attention.k.shape()[1];
  shape.head_dim = attention.q.shape()[2];
  shape.scale = attention.scale;
  shape.softcap = attention.softcap;
  if (attention.window > 0) shape.window = std::min(attention.window, AttentionShape::kUnlimited);
  return shape;
}

}  // namespace

int64_t attention_scratch_bytes(int threads, int64_t head_dim, bool backward) {
  return (backward ? kTurnsBytes : 0) + threads * scratch_bytes_of_thread(head_dim, backward);
}

void attention_forward(const Attention& attention, View out, View log_sum_exp, int threads,
                       std::byte* scratch) {
  const AttentionShape shape = shape_of(attention);
  const int64_t group = shape.heads / shape.kv_heads;
  // Heads of a group in parts of nearly equal size, and as many queries as then fit a block.
  const int64_t parts = ceil_div(group, kForwardHeads);
  const int64_t block_queries = kForwardRows / ceil_div(group, parts) / 64 * 64;
  const auto tasks_of = [&](const Segment& segment) {
    return ceil_div(segment.queries, block_queries) * shape.kv_heads * parts;
  };
  const int64_t bytes = scratch_bytes_of_thread(shape.head_dim, false);
  for_each_task(
      attention, threads, tasks_of,
      [&](int64_t, const Segment& segment, int64_t within, int thread) {
        const int64_t kv_head = within / parts % shape.kv_heads, part = within % parts;
        const int64_t blocks = ceil_div(segment.queries, block_queries);
        // The last queries see the most keys.
        const int64_t first = (blocks - 1 - within / parts / shape.kv_heads) * block_queries;
        ForwardBlock block;
        block.shape = shape;
        block.out = out;
        block.log_sum_exp = log_sum_exp.as<float>();
        block.query_row = segment.query_row + first;
        block.queries = std::min(block_queries, segment.queries - first);
        block.key_row = segment.key_row;
        block.keys = segment.keys;
        block.first_head = kv_head * group + group * part / parts;
        block.heads = group * (part + 1) / parts - group * part / parts;
        block.visible = first + 1 + segment.keys - segment.queries;
        attention_forward_block(block, reinterpret_cast<float*>(scratch + thread * bytes));
      });
}

void attention_backward(const Attention& attention, ConstView out, ConstView log_sum_exp,
                        ConstView d_out, View delta, View d_q, View d_k, View d_v, int threads,
                        std::byte* scratch) {
  const AttentionShape shape = shape_of(attention);
  // Without a window the first block of keys meets every query and starts its d_q.
  const bool clears = shape.window < AttentionShape::kUnlimited;
  for_each_chunk(threads, out.rows() * shape.heads, rows_per_chunk(shape.head_dim),
                 [&](int64_t begin, int64_t end) {
                   attention_delta(out, d_out, shape.head_dim, begin, end, delta.as<float>());
                   float* const sums = d_q.as<float>();
                   if (clears)
                     std::fill(sums + begin * shape.head_dim, sums + end * shape.head_dim, 0.0f);
                 });
  Turns& turns = *new (scratch) Turns;
  scratch += kTurnsBytes;
  // A segment without keys still has a block, which clears its d_q.
  const auto tasks_of = [&](const Segment& segment) {
    return std::max<int64_t>(1, ceil_div(segment.keys, kBackwardKeys)) * shape.kv_heads;
  };
  const int64_t bytes = scratch_bytes_of_thread(shape.head_dim, true);
  for_each_task(attention, threads, tasks_of,
                [&](int64_t task, const Segment& segment, int64_t within, int thread) {
                  const int64_t first = within / shape.kv_heads * kBackwardKeys;
                  BackwardBlock block;
                  block.shape = shape;
                  block.log_sum_exp = log_sum_exp.as<float>();
                  block.d_out = d_out;
                  block.delta = delta.as<float>();
                  block.d_q = d_q.as<float>();
                  block.d_k = d_k.as<float>();
                  block.d_v = d_v.as<float>();
                  block.query_row = segment.query_row;
                  block.queries = segment.queries;
                  block.key_row = segment.key_row + first;
                  block.keys = std::min(kBackwardKeys, segment.keys - first);
                  block.kv_head = within % shape.kv_heads;
                  block.visible = 1 + segment.keys - segment.queries - first;
                  block.starts = first == 0 && !clears;
                  const Turn turn = turns.open(task, shape.kv_heads, first > 0);
                  attention_backward_block(block, turn,
                                           reinterpret_cast<float*>(scratch + thread * bytes));
                  turns.close(task);
                });
  turns.~Turns();
}

}  // namespace cairn::cpu
