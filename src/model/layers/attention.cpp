#include "model/layers/attention.h"

#include <utility>

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
          .scale = scale,
          .softcap = softcap,
          .window = window};
}

Attention SelfAttention::attention_of(const Pass& pass, const AttentionSaved& saved) const {
  return attention_of(pass, pass.filled(saved.query).view_as(heads_shape(pass)),
                      pass.filled(saved.key).view_as(kv_shape(pass)),
                      pass.filled(saved.value).view_as(kv_shape(pass)));
}

void SelfAttention::attend(const Pass& pass, AttentionSaved& saved) const {
  saved.out = pass.make_activation("out", query.out());
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

void SelfAttention::rotate(const Pass& pass, bool inverse, View query_rows, View key_rows) const {
  const ConstView table = is_local ? pass.local_rope_table : pass.rope_table;
  ops::rope(pass.exec, pass.positions, table, inverse, query_rows.view_as(heads_shape(pass)));
  ops::rope(pass.exec, pass.positions, table, inverse, key_rows.view_as(kv_shape(pass)));
}

void SelfAttention::project(const Pass& pass, AttentionSaved& saved) const {
  Tensor& of_query = norms_heads() ? saved.raw_query.raw : saved.query;
  Tensor& of_key = norms_heads() ? saved.raw_key.raw : saved.key;
  of_query = pass.make_activation("query", query.out());
  of_key = pass.make_activation("key", key.out());
  saved.value = pass.make_activation("value", value.out());
  const View normed = pass.filled(saved.normed);
  query.forward(pass, normed, pass.filled(of_query));
  key.forward(pass, normed, pass.filled(of_key));
  value.forward(pass, normed, pass.filled(saved.value));
}

void SelfAttention::turn(const Pass& pass, AttentionSaved& saved) const {
  if (norms_heads()) {
    saved.query = pass.make_activation("normed query", query.out());
    saved.key = pass.make_activation("normed key", key.out());
    query_norm.forward(pass, saved.raw_query, pass.filled(saved.query));
    key_norm.forward(pass, saved.raw_key, pass.filled(saved.key));
  }
  rotate(pass, false, pass.filled(saved.query), pass.filled(saved.key));
}

void SelfAttention::finish(const Pass& pass, ConstView x, AttentionSaved& saved, View y) const {
  if (!output_norm) {
    if (y) output.forward(pass, pass.filled(saved.out), y, x);
    return;
  }
  saved.normed_output.projected = pass.make_activation("projected", x.columns());
  output.forward(pass, pass.filled(saved.out), pass.filled(saved.normed_output.projected));
  output_norm.forward(pass, x, saved.normed_output, y);
}

void SelfAttention::forward(const Pass& pass, ConstView x, AttentionSaved& saved, View y,
                            MemberSet dropped) const {
  const Ledger::Scope scope(pass.exec.arena.ledger(), "attention");
  normalize(pass, x, saved);
  project(pass, saved);
  if (!reads_normed_trained() || dropped.has(Member::attention_normed)) saved.normed.reset();
  turn(pass, saved);
  attend(pass, saved);
  const bool drops = dropped.has(Member::projections);
  if (drops || norms_heads()) {
    saved.query.reset();
    saved.key.reset();
  }
  if (drops) {
    saved.raw_query = HeadNormSaved();
    saved.raw_key = HeadNormSaved();
    saved.value.reset();
  }
  finish(pass, x, saved, y);
}

void SelfAttention::restore(const Pass& pass, ConstView x, AttentionSaved& saved) const {
  const bool products = has_products(saved);
  if (!saved.normed && (reads_normed_trained() || !products)) normalize(pass, x, saved);
  if (!products) project(pass, saved);
  if (!products || norms_heads()) turn(pass, saved);
  if (!reads_normed_trained()) saved.normed.reset();
}

void SelfAttention::forward_cached(const Pass& pass, ConstView x, KvCache& cache, int64_t layer,
                                   ConstView cu_keys, View y) const {
  const Exec& exec = pass.exec;
  const Ledger::Scope scope(exec.arena.ledger(), "attention");
  AttentionSaved saved;
  normalize(pass, x, saved);
  const View normed = pass.filled(saved.normed);

  const int64_t tokens = pass.tokens();
  const View k = cache.view_next_keys(layer, tokens);
  const View v = cache.view_next_values(layer, tokens);
  const View key_rows = k.view_as({tokens, key.out()});
  saved.query = pass.make_activation("query", query.out());
  const View query_rows = pass.filled(saved.query);
  if (norms_heads()) {
    saved.raw_query.raw = pass.make_activation("raw query", query.out());
    saved.raw_key.raw = pass.make_activation("raw key", key.out());
    query.forward(pass, normed, pass.filled(saved.raw_query.raw));
    key.forward(pass, normed, pass.filled(saved.raw_key.raw));
    query_norm.forward(pass, saved.raw_query, query_rows);
    key_norm.forward(pass, saved.raw_key, key_rows);
  } else {
    query.forward(pass, normed, query_rows);
    key.forward(pass, normed, key_rows);
  }
  value.forward(pass, normed, v.view_as({tokens, value.out()}));
  rotate(pass, false, query_rows, key_rows);

  saved.out = pass.make_activation("out", query.out());
  saved.log_sum_exp = pass.make_statistic("log sum exp", num_heads);
  Attention attention =
      attention_of(pass, query_rows.view_as(heads_shape(pass)), cache.view_keys(layer, tokens),
                   cache.view_values(layer, tokens));
  attention.cu_keys = cu_keys;
  ops::attention_forward(exec, attention, pass.filled(saved.out).view_as(heads_shape(pass)),
                         pass.filled(saved.log_sum_exp));
  finish(pass, x, saved, y);
}

void SelfAttention::backward(const Pass& pass, ConstView x, AttentionSaved& saved, View d,
                             bool input_gradient) const {
  const Exec& exec = pass.exec;
  const Ledger::Scope scope(exec.arena.ledger(), "attention");
  restore(pass, x, saved);
  Tensor d_query = pass.make_gradient("d query", query.out());
  Tensor d_key = pass.make_gradient("d key", key.out());
  Tensor d_value = pass.make_gradient("d value", value.out());
  {
    Tensor d_projected;
    if (output_norm) d_projected = output_norm.backward(pass, saved.normed_output, d);
    const View d_y = output_norm ? pass.filled(d_projected) : d;
    Tensor d_out = pass.make_gradient("d out", query.out());
    output.backward_input(pass, d_y, pass.filled(d_out), false);
    output.backward_parameters(pass, d_y, pass.filled(saved.out));
    d_projected.reset();
    attend_backward(pass, saved, pass.filled(d_out).view_as(heads_shape(pass)),
                    pass.filled(d_query).view_as(heads_shape(pass)),
                    pass.filled(d_key).view_as(kv_shape(pass)),
                    pass.filled(d_value).view_as(kv_shape(pass)));
  }
  saved.query.reset();
  saved.key.reset();
  saved.value.reset();
  saved.out.reset();
  saved.log_sum_exp.reset();
  saved.probabilities.reset();

  rotate(pass, true, pass.filled(d_query), pass.filled(d_key));
  if (norms_heads()) {
    query_norm.backward(pass, saved.raw_query, d_query);
    key_norm.backward(pass, saved.raw_key, d_key);
  }
  const View dq = pass.filled(d_query), dk = pass.filled(d_key), dv = pass.filled(d_value);
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
