// The whole vocabulary of a backend, on one page. A forgotten kernel is a compile error. Shapes are
// checked above, in ops/, so that they are rehearsed too; kernels trust their arguments. Storage of
// activations and weights is f32 or bf16, of frozen weights also 4-bit codes; arithmetic is f32,
// gradients in flight are f32. Bits depend neither on the thread count nor on which rows share a
// call.
#pragma once

#include <cstdint>

#include "memory/device.h"
#include "memory/view.h"

namespace cairn {

// A low-rank term folded into a stored operand: b + scale * up * down, in b's stored coordinates.
struct LowRank {
  ConstView up;    // [rows of b, rank]
  ConstView down;  // [rank, columns of b]
  float scale = 0;
};

// What the codes of a u4 tensor stand for, as bitsandbytes keeps it: element e of the flat order is
// table[code] * absmax[e / block], rounded to f32. Nested, absmax[i] is itself coded:
// nested_table[code] * nested_absmax[i / 256] + nested_offset.
struct QuantState {
  ConstView table;          // [16] f32
  ConstView absmax;         // [ceil(elements / block)] f32, or u8 codes if nested
  ConstView nested_absmax;  // [ceil(absmax / 256)] f32
  ConstView nested_table;   // [256] f32
  ConstView nested_offset;  // [1] f32
  int64_t block = 0;        // a power of two, 32 to 4096
  int64_t first = 0;        // element of the whole weight that the codes begin at

  bool nested() const { return bool(nested_absmax); }
};

// c = alpha * op(a) * op(b) + beta * c + residual + bias. op(a) is [m, k], op(b) is [k, n].
struct Gemm {
  ConstView a;  // [m, k], or [k, m] if transpose_a; f32 or bf16
  ConstView b;  // [k, n], or [n, k] if transpose_b; f32, bf16 or u4
  View c;       // [m, n]; f32 or bf16 (rounded once, at the end)
  bool transpose_a = false;
  bool transpose_b = false;
  float alpha = 1;
  float beta = 0;        // 0 or 1; 0 never reads c
  ConstView residual{};  // [m, n] of c's dtype, or none; wants beta 0
  ConstView bias{};      // [n], f32 or bf16, added to every row; wants beta 0 and no residual
  LowRank fold{};        // none if fold.scale is 0
  QuantState quant{};    // of a u4 b
};

// Attention over rows joined end to end: segment s holds queries cu_queries[s] .. cu_queries[s+1]
// and keys cu_keys[s] .. cu_keys[s+1]. Causal, aligned bottom right: query i of a segment with Q
// queries and K keys sees keys j <= i + K - Q, of those the last `window`. Query head h reads
// key/value head h / (heads / kv_heads).
struct Attention {
  ConstView q;           // [tokens, heads, head_dim], f32 or bf16
  ConstView k;           // [kv_tokens, kv_heads, head_dim]
  ConstView v;           // [kv_tokens, kv_heads, head_dim]
  ConstView cu_queries;  // [segments + 1] i32
  ConstView cu_keys;     // [segments + 1] i32
  float scale = 1;       // of the scores, before softmax
  float softcap = 0;     // c: a scaled score s becomes c * tanh(s / c) before the mask; 0: it stays
  int64_t window = 0;    // keys that a query sees at most, its own included; 0: all
};

struct AdamW {
  float learning_rate = 0;
  float beta1 = 0.9f, beta2 = 0.999f, epsilon = 1e-8f, weight_decay = 0;
  // 1 - beta, rounded once: of a beta near 1 that is rounded first little is left. Moments in 8
  // bits follow bitsandbytes, which takes it from the rounded one.
  float rest1 = 0.1f, rest2 = 0.001f;
  float bias_correction1 = 1, bias_correction2 = 1;  // 1 - beta^t
  float gradient_scale = 1;                          // clipping
  bool stochastic_rounding = false;  // of a bf16 v, and of a bf16 weight without master
  uint64_t seed = 0, stream = 0;     // key of that rounding: (seed, step, parameter)
  int64_t first = 0;  // element of the parameter that the views begin at, a multiple of 256
};

// Values in 8 bits: codes of a dynamic map (numeric/dynamic_map.h), a scale for each block.
inline constexpr int64_t kCodedBlock = 256;
struct BlockCodes {
  View codes;   // [n] u8
  View scales;  // [ceil(n / 256)] f32, the largest magnitude of each block
};

struct Sgd {
  float learning_rate = 0, weight_decay = 0;
  float gradient_scale = 1;          // clipping
  bool stochastic_rounding = false;  // of a bf16 weight without master
  uint64_t seed = 0, stream = 0;     // as in AdamW
  int64_t first = 0;
};

struct RandomFill {
  bool normal = false;  // standard deviation `scale`; else uniform in +-scale
  float scale = 1;
  uint64_t seed = 0, stream = 0;
  int64_t first = 0;  // element that the view begins at, a multiple of 256
};

// Which elements of the rows of a batch are dropped: one by one with probability `rate`, each a
// pure function of (seed, stream, its row's sample and position, its column), so that neither
// recomputation nor who shares the batch moves a bit.
struct Dropout {
  float rate = 0;         // from 0 up to but not including 1
  uint64_t seed = 0;      // of the run and the step
  uint32_t stream = 0;    // of the module
  ConstView samples{};    // [rows] i32
  ConstView positions{};  // [rows] i32, within the sample
};

class Kernels {
 public:
  virtual ~Kernels() = default;

  // --- moving ---
  virtual void fill_zero(Stream, View out) = 0;
  virtual void fill_random(Stream, const RandomFill&, View out) = 0;
  // Same number of elements; any of f32, bf16, f16 to f32 or bf16, to nearest even.
  virtual void convert(Stream, ConstView in, View out) = 0;
  // inout += in.
  virtual void add(Stream, ConstView in, View inout) = 0;
  // out[i] = in[rows[i]]; rows is i32.
  virtual void gather_rows(Stream, ConstView in, ConstView rows, View out) = 0;
  // out = 0, then out[rows[i]] = in[i]; rows are distinct.
  virtual void scatter_rows(Stream, ConstView in, ConstView rows, View out) = 0;

  // --- products ---
  virtual int64_t gemm_scratch_bytes() = 0;
  virtual void gemm(Stream, const Gemm&, View scratch) = 0;

  // --- quantisation ---
  // NF4: in [n] f32; codes [n] u4, absmax [ceil(n / block)] f32, the largest magnitude of a block.
  virtual void quantise_nf4(Stream, ConstView in, int64_t block, View codes, View absmax) = 0;
  // The second level: codes [n] u8 of absmax [n] f32 less its mean (offset [1] f32), in blocks of
  // 256 over their largest magnitude (nested_absmax), each the nearest entry of table [256] f32.
  virtual void nest_absmax(Stream, ConstView absmax, ConstView table, View codes,
                           View nested_absmax, View offset) = 0;

  // --- layers ---
  // ids [tokens] i32, table [vocab, hidden], out [tokens, hidden] = scale * table[ids].
  virtual void embedding_forward(Stream, ConstView ids, ConstView table, float scale, View out) = 0;
  // d_table[ids[t]] += scale * d_out[t], in the order of t; a row in bf16 is rounded once, and
  // order [tokens] i32 is scratch for it. d_table in f32 wants none.
  virtual void embedding_backward(Stream, ConstView ids, ConstView d_out, float scale, View d_table,
                                  View order) = 0;
  // out [n] += the sum of in's rows [rows, n], one after the other: the gradient of a bias.
  virtual void sum_rows(Stream, ConstView in, View out) = 0;
  // y = (weight + offset) * (x * rstd), rstd = 1 / sqrt(mean(x^2) + epsilon). x, y [tokens,
  // hidden], rstd [tokens].
  virtual void rms_norm_forward(Stream, ConstView x, ConstView weight, float offset, float epsilon,
                                View y, View rstd) = 0;
  // d_x += ... (f32); d_weight += ... when given, token by token.
  virtual void rms_norm_backward(Stream, ConstView d_y, ConstView x, ConstView weight, float offset,
                                 ConstView rstd, View d_x, View d_weight) = 0;
  // Rotates pairs (i, i + rotary / 2) of inout [tokens, heads, head_dim] by the angle of their
  // position: table [positions, rotary / 2, 2] f32 holds cos and sin; what lies beyond the first
  // `rotary` of a head stays. `inverse` turns back.
  virtual void rope(Stream, ConstView positions, ConstView table, bool inverse, View inout) = 0;
  // out [tokens, heads, head_dim]; log_sum_exp [tokens, heads] f32, natural, of the scaled scores.
  virtual int64_t attention_scratch_bytes(int64_t head_dim, bool backward) = 0;
  virtual void attention_forward(Stream, const Attention&, View out, View log_sum_exp,
                                 View scratch) = 0;
  // d_out f32; delta [tokens, heads] f32 is scratch; d_q, d_k, d_v f32 are overwritten.
  virtual void attention_backward(Stream, const Attention&, ConstView out, ConstView log_sum_exp,
                                  ConstView d_out, View delta, View d_q, View d_k, View d_v,
                                  View scratch) = 0;
  // The same with every head's whole square of probabilities [tokens, heads, longest_segment], f32
  // or bf16, which backward reads.
  virtual int64_t attention_materialised_scratch_bytes(int64_t longest_segment) = 0;
  virtual void attention_materialised_forward(Stream, const Attention&, View out,
                                              View probabilities, View scratch) = 0;
  virtual void attention_materialised_backward(Stream, const Attention&, ConstView probabilities,
                                               ConstView d_out, View d_q, View d_k, View d_v,
                                               View scratch) = 0;
  // out = silu(gate) * up.
  virtual void swiglu_forward(Stream, ConstView gate, ConstView up, View out) = 0;
  // d_up may be d_out's own storage.
  virtual void swiglu_backward(Stream, ConstView d_out, ConstView gate, ConstView up, View d_gate,
                               View d_up) = 0;
  // out = gelu(gate) * up, gelu in its tanh form.
  virtual void geglu_forward(Stream, ConstView gate, ConstView up, View out) = 0;
  // d_up may be d_out's own storage.
  virtual void geglu_backward(Stream, ConstView d_out, ConstView gate, ConstView up, View d_gate,
                              View d_up) = 0;
  // inout = cap * tanh(inout / cap).
  virtual void softcap(Stream, float cap, View inout) = 0;
  // out = in where it is not dropped, else 0; nothing is scaled. out may be in's own storage.
  virtual void dropout(Stream, const Dropout&, ConstView in, View out) = 0;
  // row_loss[i] = log_sum_exp(logits[i]) - logits[i][labels[i]]; with `gradient`, logits become
  // (softmax - one_hot) * scale in place. logits [rows, vocab] f32, labels [rows] i32. A softcap
  // other than 0 says that logits went through one: the gradient is that of what went in.
  virtual void cross_entropy(Stream, ConstView labels, float scale, float softcap, bool gradient,
                             View logits, View row_loss) = 0;

  // --- optimizer ---
  // out[0] (f64) = sum of squares, over fixed blocks in a fixed order.
  virtual int64_t sum_of_squares_scratch_bytes() = 0;
  virtual void sum_of_squares(Stream, ConstView in, View out, View scratch) = 0;
  // master may be empty: then `weight` itself is updated. m and v are f32 or bf16.
  virtual void adamw(Stream, const AdamW&, ConstView gradient, View weight, View master, View m,
                     View v) = 0;
  // The same with moments in 8 bits: m by the signed map, v by the unsigned one. An element whose
  // gradient, or its square, is not finite keeps its weight and starts its moments anew at 0.
  virtual void adamw_8bit(Stream, const AdamW&, ConstView gradient, View weight, View master,
                          const BlockCodes& m, const BlockCodes& v) = 0;
  // weight -= learning_rate * (gradient + weight_decay * weight).
  virtual void sgd(Stream, const Sgd&, ConstView gradient, View weight, View master) = 0;
  // f32 to and from 8 bits, by the signed map or the unsigned one.
  virtual void encode_blocks(Stream, bool is_signed, ConstView in, const BlockCodes& out) = 0;
  virtual void decode_blocks(Stream, bool is_signed, const BlockCodes& in, View out) = 0;
};

}  // namespace cairn
