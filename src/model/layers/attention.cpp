#include "model/layers/attention.h"

#include <cmath>

#include "ops/attention.h"
#include "ops/rope.h"

namespace cairn {

Attention SelfAttention::attention_of(const Pass& pass, ConstView q, ConstView k,
                                      ConstView v) const {
  return {.q = q,
          .k = k,
          .v = v,
          .cu_queries = pass.cu_segments,
          .cu_keys = pass.cu_segments,
          .scale = 1.0f / std::sqrt(static_cast<float>(head_dim))};
}

Attention SelfAttention::attention_of(const Pass& pass, const AttentionSaved& saved) const {
  return attention_of(pass, pass.filled(saved.query).view_as(heads_shape(pass)),
                      pass.filled(saved.key).view_as(kv_shape(pass)),
                      pass.filled(saved.value).view_as(kv_shape(pass)));
}

void SelfAttention::attend(const Pass& pass, AttentionSaved& saved) const {
  saved.out = pass.make_activation("out", query.weight->shape[0]);
  const Attention attention = attention_of(pass, saved);
  const View out = pass.filled(saved.out).view_as(heads_shape(pass));
  if (kind == AttentionKind::materialised) {
    saved.probabilities =
        pass.make_activation("probabilities", num_heads * pass.capacity.longest_segment);
    ops::attention_materialised_forward(
        pass.exec, attention, out, pass.filled(saved.probabilities).view_as(square_shape(pass)));
  } else {
    saved.log_sum_exp = pass.make_statistic("log sum exp", num_heads);
    ops::attention_forward(pass.exec, attention, out, pass.filled(saved.log_sum_exp));
  }
}

void SelfAttention::attend_backward(const Pass& pass, const AttentionSaved& saved, ConstView d_out,
                                    View d_q, View d_k, View d_v) const {
  const Attention attention = attention_of(pass, saved);
  if (kind == AttentionKind::materialised)
    return ops::attention_materialised_backward(
        pass.exec, attention, pass.filled(saved.probabilities).view_as(square_shape(pass)), d_out,
        d_q, d_k, d_v);
  Tensor delta = pass.make_gradient("delta", num_heads);
  ops::attention_backward(pass.exec, attention, pass.filled(saved.out).view_as(heads_shape(pass)),
                          pass.filled(saved.log_sum_exp), d_out, pass.filled(delta), d_q, d_k, d_v);
}

void SelfAttention::normalize(const Pass& pass, ConstView x, AttentionSaved& saved) const {
  if (!saved.rstd) saved.rstd = pass.make_statistic("rstd", 1);
  saved.normed = pass.make_activation("normed", x.columns());
  norm.forward(pass.exec, x, pass.filled(saved.normed), pass.filled(saved.rstd));
}

void SelfAttention::project(const Pass& pass, AttentionSaved& saved) const {
  const Exec& exec = pass.exec;
  saved.query = pass.make_activation("query", query.weight->shape[0]);
  saved.key = pass.make_activation("key", key.weight->shape[0]);
  saved.value = pass.make_activation("value", value.weight->shape[0]);
  const View normed = pass.filled(saved.normed);
  query.forward(pass, normed, pass.filled(saved.query));
  key.forward(pass, normed, pass.filled(saved.key));
  value.forward(pass, normed, pass.filled(saved.value));
  ops::rope(exec, pass.positions, pass.rope_table, false,
            pass.filled(saved.query).view_as(heads_shape(pass)));
  ops::rope(exec, pass.positions, pass.rope_table, false,
            pass.filled(saved.key).view_as(kv_shape(pass)));
}

void SelfAttention::forward(const Pass& pass, ConstView x, AttentionSaved& saved, View y,
                            MemberSet dropped) const {
  const Ledger::Scope scope(pass.exec.arena.ledger(), "attention");
  normalize(pass, x, saved);
  project(pass, saved);
  if (!reads_normed_trained() || dropped.has(Member::attention_normed)) saved.normed.reset();
  attend(pass, saved);
  if (dropped.has(Member::projections)) {
    saved.query.reset();
    saved.key.reset();
    saved.value.reset();
  }
  if (y) output.forward(pass, pass.filled(saved.out), y, x);
}

void SelfAttention::restore(const Pass& pass, ConstView x, AttentionSaved& saved) const {
  if (!saved.normed && (reads_normed_trained() || !saved.query)) normalize(pass, x, saved);
  if (!saved.query) project(pass, saved);
  if (!reads_normed_trained()) saved.normed.reset();
}

void SelfAttention::forward_cached(const Pass& pass, ConstView x, KvCache& cache, int64_t layer,
                                   ConstView cu_keys, View y) const {
  const Exec& exec = pass.exec;
  const Ledger::Scope scope(exec.arena.ledger(), "attention");
  Tensor rstd = pass.make_statistic("rstd", 1);
  Tensor normed = pass.make_activation("normed", x.columns());
  Tensor query_rows = pass.make_activation("query", query.weight->shape[0]);
  Tensor out = pass.make_activation("out", query.weight->shape[0]);
  Tensor log_sum_exp = pass.make_statistic("log sum exp", num_heads);

  const int64_t tokens = pass.tokens();
  const View k = cache.view_next_keys(layer, tokens);
  const View v = cache.view_next_values(layer, tokens);
  norm.forward(exec, x, pass.filled(normed), pass.filled(rstd));
  query.forward(pass, pass.filled(normed), pass.filled(query_rows));
  key.forward(pass, pass.filled(normed), k.view_as({tokens, num_kv_heads * head_dim}));
  value.forward(pass, pass.filled(normed), v.view_as({tokens, num_kv_heads * head_dim}));

  const View q = pass.filled(query_rows).view_as(heads_shape(pass));
  ops::rope(exec, pass.positions, pass.rope_table, false, q);
  ops::rope(exec, pass.positions, pass.rope_table, false, k);
  Attention attention =
      attention_of(pass, q, cache.view_keys(layer, tokens), cache.view_values(layer, tokens));
  attention.cu_keys = cu_keys;
  ops::attention_forward(exec, attention, pass.filled(out).view_as(heads_shape(pass)),
                         pass.filled(log_sum_exp));
  output.forward(pass, pass.filled(out), y, x);
}

void SelfAttention::backward(const Pass& pass, ConstView x, AttentionSaved& saved, View d,
                             bool input_gradient) const {
  const Exec& exec = pass.exec;
  const Ledger::Scope scope(exec.arena.ledger(), "attention");
  restore(pass, x, saved);
  Tensor d_query = pass.make_gradient("d query", query.weight->shape[0]);
  Tensor d_key = pass.make_gradient("d key", key.weight->shape[0]);
  Tensor d_value = pass.make_gradient("d value", value.weight->shape[0]);
  const View dq = pass.filled(d_query), dk = pass.filled(d_key), dv = pass.filled(d_value);
  {
    Tensor d_out = pass.make_gradient("d out", query.weight->shape[0]);
    output.backward_input(pass, d, pass.filled(d_out), false);
    output.backward_parameters(pass, d, pass.filled(saved.out));
    attend_backward(pass, saved, pass.filled(d_out).view_as(heads_shape(pass)),
                    dq.view_as(heads_shape(pass)), dk.view_as(kv_shape(pass)),
                    dv.view_as(kv_shape(pass)));
  }
  saved.query.reset();
  saved.key.reset();
  saved.value.reset();
  saved.out.reset();
  saved.log_sum_exp.reset();
  saved.probabilities.reset();

  ops::rope(exec, pass.positions, pass.rope_table, true, dq.view_as(heads_shape(pass)));
  ops::rope(exec, pass.positions, pass.rope_table, true, dk.view_as(kv_shape(pass)));
  if (reads_normed_trained()) {
    const ConstView normed = pass.filled(saved.normed);
    query.backward_parameters(pass, dq, normed);
    key.backward_parameters(pass, dk, normed);
    value.backward_parameters(pass, dv, normed);
    saved.normed.reset();
  }
  if (!input_gradient && !norm.weight->trainable) return;
  Tensor d_normed = pass.make_gradient("d normed", x.columns());
  query.backward_input(pass, dq, pass.filled(d_normed), false);
  key.backward_input(pass, dk, pass.filled(d_normed), true);
  value.backward_input(pass, dv, pass.filled(d_normed), true);
  norm.backward(exec, pass.filled(d_normed), x, pass.filled(saved.rstd), d);
  saved.rstd.reset();
}

}  // namespace cairn
