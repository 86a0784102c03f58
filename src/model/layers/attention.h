// SelfAttention: norm, query/key/value products, norms of heads, rotary positions, exact attention,
// output product, its norm, residual; what a family lacks is left out. Tiled attention never has
// more than a tile of scores; the materialised one keeps every head's probabilities, and is there
// to be measured against.
#pragma once

#include "model/checkpoint_policy.h"
#include "model/config.h"
#include "model/kv_cache.h"
#include "model/layers/head_norm.h"
#include "model/layers/linear.h"
#include "model/layers/output_norm.h"

namespace cairn {

enum class AttentionKind : uint8_t { flash, materialised };

// What forward leaves for backward; T is the capacity in tokens.
struct AttentionSaved {
  Tensor rstd;                       // [T, 1] f32
  Tensor normed;                     // [T, hidden], only if a product that reads it is trained
  HeadNormSaved raw_query, raw_key;  // only if heads are normed
  Tensor query;          // [T, heads * head_dim], rotated; with normed heads only while in use
  Tensor key;            // [T, kv_heads * head_dim], as query
  Tensor value;          // [T, kv_heads * head_dim]
  Tensor out;            // [T, heads * head_dim]
  Tensor log_sum_exp;    // [T, heads] f32, flash only
  Tensor probabilities;  // [T, heads * longest_segment], materialised only
  OutputNormSaved normed_output;  // only if the output is normed
};

struct SelfAttention {
  RmsNorm norm;
  Linear query, key, value, output;
  HeadNorm query_norm, key_norm;
  OutputNorm output_norm;
  int64_t num_heads = 0, num_kv_heads = 0, head_dim = 0;
  float scale = 1, softcap = 0;               // of the scores; softcap 0: none
  int64_t window = 0;                         // keys that a query sees, its own included; 0: all
  bool is_local = false;                      // turns by the local rotary table
  AttentionKind kind = AttentionKind::flash;  // in training; generation is always flash

  // y [tokens, hidden] = x + norm(attention(norm(x))). Members in `dropped` are not left behind:
  // backward computes them again.
  void forward(const Pass& pass, ConstView x, AttentionSaved& saved, View y,
               MemberSet dropped = {}) const;
  // The same over a cache: the batch is the continuation of one sequence. cu_keys [2] i32.
  void forward_cached(const Pass& pass, ConstView x, KvCache& cache, int64_t layer,
                      ConstView cu_keys, View y) const;
  // d [tokens, hidden] f32 is d_y on entry and d_x on return; without `input_gradient` the gradient
  // of x is not computed and d is left as it was. Gives back what `saved` holds.
  void backward(const Pass& pass, ConstView x, AttentionSaved& saved, View d,
                bool input_gradient) const;

 private:
  bool reads_normed_trained() const { return query.trains() || key.trains() || value.trains(); }
  void normalize(const Pass& pass, ConstView x, AttentionSaved& saved) const;
  void project(const Pass& pass, AttentionSaved& saved) const;
  // Queries and keys from what the products gave: norms of heads, rotary positions.
  void turn(const Pass& pass, AttentionSaved& saved) const;
  void rotate(const Pass& pass, bool inverse, View query_rows, View key_rows) const;
  bool norms_heads() const { return bool(query_norm); }
  bool has_products(const AttentionSaved& saved) const {
    return bool(norms_heads() ? saved.raw_query.raw : saved.query);
  }
  void finish(const Pass& pass, ConstView x, AttentionSaved& saved, View y) const;
  // Computes again what forward dropped and backward reads.
  void restore(const Pass& pass, ConstView x, AttentionSaved& saved) const;
  Shape heads_shape(const Pass& pass) const { return {pass.tokens(), num_heads, head_dim}; }
  Shape kv_shape(const Pass& pass) const { return {pass.tokens(), num_kv_heads, head_dim}; }
  Shape square_shape(const Pass& pass) const {
    return {pass.tokens(), num_heads, pass.capacity.longest_segment};
  }
  Attention attention_of(const Pass& pass, ConstView q, ConstView k, ConstView v) const;
  Attention attention_of(const Pass& pass, const AttentionSaved& saved) const;
  void attend(const Pass& pass, AttentionSaved& saved) const;
  void attend_backward(const Pass& pass, const AttentionSaved& saved, ConstView d_out, View d_q,
                       View d_k, View d_v) const;
};

}  // namespace cairn
