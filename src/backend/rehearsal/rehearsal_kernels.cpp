// What each kernel costs. An operand that is read and written counts twice; a gathered table counts
// the rows that are read. Attention counts segments of one length: their true lengths are data,
// which a rehearsal does not read.
#include "backend/rehearsal/rehearsal_kernels.h"

#include <algorithm>

namespace cairn {
namespace {

// Keys seen by queries that see 1, 2, ..., `longest` of them, at most `window` each.
double pairs_up_to(double longest, double window) {
  const double growing = std::min(longest, window);
  return growing * (growing + 1) / 2 + (longest - growing) * window;
}

// Two products of every query with the keys it sees.
double attention_flops(const Attention& attention) {
  // Segments cannot be read here; they are taken to be of one length.
  const auto segments = std::max(1.0, static_cast<double>(attention.cu_queries.elements()) - 1);
  const double queries = static_cast<double>(attention.q.shape()[0]) / segments;
  const double keys = static_cast<double>(attention.k.shape()[0]) / segments;
  const auto width = static_cast<double>(attention.q.columns());
  const double window =
      attention.window > 0 ? static_cast<double>(attention.window) : std::max(keys, 1.0);
  // The queries are the last of `keys` positions.
  const double pairs = pairs_up_to(keys, window) - pairs_up_to(keys - queries, window);
  return 4 * segments * pairs * width;
}

// Backward recomputes the scores and has four products more.
constexpr double kBackwardOverForward = 2.5;

// Two products of every query with every key of its segment, hidden ones too.
double square_flops(const Attention& attention) {
  const auto segments = std::max(1.0, static_cast<double>(attention.cu_queries.elements()) - 1);
  const double queries = static_cast<double>(attention.q.shape()[0]) / segments;
  return 4 * queries * static_cast<double>(attention.k.shape()[0]) *
         static_cast<double>(attention.q.columns());
}

}  // namespace

void RehearsalKernels::fill_zero(Stream, View out) { count_bytes(out); }
void RehearsalKernels::fill_random(Stream, const RandomFill&, View out) { count_bytes(out); }
void RehearsalKernels::convert(Stream, ConstView in, View out) { count_bytes(in, out); }
void RehearsalKernels::add(Stream, ConstView in, View inout) { count_bytes(in, inout, inout); }
void RehearsalKernels::gather_rows(Stream, ConstView, ConstView rows, View out) {
  count_bytes(rows, out, out);
}
void RehearsalKernels::scatter_rows(Stream, ConstView in, ConstView rows, View out) {
  count_bytes(rows, in, in, out);
}

int64_t RehearsalKernels::gemm_scratch_bytes() { return target_->gemm_scratch_bytes(); }

void RehearsalKernels::gemm(Stream, const Gemm& gemm, View) {
  const auto depth = static_cast<double>(gemm.transpose_a ? gemm.a.rows() : gemm.a.columns());
  work_.gemm_flops += 2 * static_cast<double>(gemm.c.elements()) * depth;
  if (gemm.fold.scale != 0)
    work_.gemm_flops +=
        2 * static_cast<double>(gemm.b.elements()) * static_cast<double>(gemm.fold.up.columns());
}

void RehearsalKernels::quantise_nf4(Stream, ConstView in, int64_t, View codes, View absmax) {
  count_bytes(in, codes, absmax);
}
void RehearsalKernels::nest_absmax(Stream, ConstView absmax, ConstView, View codes,
                                   View nested_absmax, View) {
  count_bytes(absmax, absmax, codes, nested_absmax);
}

void RehearsalKernels::embedding_forward(Stream, ConstView ids, ConstView, float, View out) {
  count_bytes(ids, out, out);
}
void RehearsalKernels::embedding_backward(Stream, ConstView ids, ConstView d_out, float, View,
                                          View) {
  count_bytes(ids, d_out, d_out, d_out);
}
void RehearsalKernels::sum_rows(Stream, ConstView in, View out) { count_bytes(in, out, out); }

void RehearsalKernels::rms_norm_forward(Stream, ConstView x, ConstView weight, float, float, View y,
                                        View rstd) {
  count_bytes(x, weight, y, rstd);
}
void RehearsalKernels::rms_norm_backward(Stream, ConstView d_y, ConstView x, ConstView weight,
                                         float, ConstView rstd, View d_x, View d_weight) {
  count_bytes(d_y, x, weight, rstd, d_x, d_x);
  if (d_weight) count_bytes(d_y, x, d_weight, d_weight);
}

void RehearsalKernels::rope(Stream, ConstView positions, ConstView, bool, View inout) {
  count_bytes(positions, inout, inout);
}

int64_t RehearsalKernels::attention_scratch_bytes(int64_t head_dim, bool backward) {
  return target_->attention_scratch_bytes(head_dim, backward);
}
void RehearsalKernels::attention_forward(Stream, const Attention& attention, View, View, View) {
  work_.gemm_flops += attention_flops(attention);
}
void RehearsalKernels::attention_backward(Stream, const Attention& attention, ConstView, ConstView,
                                          ConstView, View, View, View, View, View) {
  work_.gemm_flops += kBackwardOverForward * attention_flops(attention);
}

int64_t RehearsalKernels::attention_materialised_scratch_bytes(int64_t longest_segment) {
  return target_->attention_materialised_scratch_bytes(longest_segment);
}
void RehearsalKernels::attention_materialised_forward(Stream, const Attention& attention, View,
                                                      View probabilities, View) {
  work_.gemm_flops += square_flops(attention);
  count_bytes(probabilities);
}
void RehearsalKernels::attention_materialised_backward(Stream, const Attention& attention,
                                                       ConstView probabilities, ConstView, View,
                                                       View, View, View) {
  // Four products; capped scores are recomputed by a fifth.
  work_.gemm_flops += (attention.softcap != 0 ? 2.5 : 2.0) * square_flops(attention);
  count_bytes(probabilities);
}

void RehearsalKernels::swiglu_forward(Stream, ConstView gate, ConstView up, View out) {
  count_bytes(gate, up, out);
}
void RehearsalKernels::swiglu_backward(Stream, ConstView d_out, ConstView gate, ConstView up,
                                       View d_gate, View d_up) {
  count_bytes(d_out, gate, up, d_gate, d_up);
}

void RehearsalKernels::geglu_forward(Stream, ConstView gate, ConstView up, View out) {
  count_bytes(gate, up, out);
}
void RehearsalKernels::geglu_backward(Stream, ConstView d_out, ConstView gate, ConstView up,
                                      View d_gate, View d_up) {
  count_bytes(d_out, gate, up, d_gate, d_up);
}
void RehearsalKernels::softcap(Stream, float, View inout) { count_bytes(inout, inout); }

void RehearsalKernels::dropout(Stream, const Dropout& dropout, ConstView in, View out) {
  count_bytes(dropout.samples, dropout.positions, in, out);
}

void RehearsalKernels::cross_entropy(Stream, ConstView labels, float, float, bool gradient,
                                     View logits, View row_loss) {
  count_bytes(labels, logits, row_loss);
  if (gradient) count_bytes(logits);
}

int64_t RehearsalKernels::sum_of_squares_scratch_bytes() {
  return target_->sum_of_squares_scratch_bytes();
}
void RehearsalKernels::sum_of_squares(Stream, ConstView in, View out, View) {
  count_bytes(in, out);
}
void RehearsalKernels::adamw(Stream, const AdamW&, ConstView gradient, View weight, View master,
                             View m, View v) {
  count_trained(gradient, weight, master);
  count_bytes(m, m, v, v);
}
void RehearsalKernels::adamw_8bit(Stream, const AdamW&, ConstView gradient, View weight,
                                  View master, const BlockCodes& m, const BlockCodes& v) {
  count_trained(gradient, weight, master);
  for (const BlockCodes* codes : {&m, &m, &v, &v}) count_bytes(codes->codes, codes->scales);
}
void RehearsalKernels::sgd(Stream, const Sgd&, ConstView gradient, View weight, View master) {
  count_trained(gradient, weight, master);
}
void RehearsalKernels::encode_blocks(Stream, bool, ConstView in, const BlockCodes& out) {
  count_bytes(in, out.codes, out.scales);
}
void RehearsalKernels::decode_blocks(Stream, bool, const BlockCodes& in, View out) {
  count_bytes(in.codes, in.scales, out);
}

// A weight is read and written, or written from its master, which is.
void RehearsalKernels::count_trained(ConstView gradient, View weight, View master) {
  count_bytes(gradient, weight);
  if (master)
    count_bytes(master, master);
  else
    count_bytes(weight);
}

}  // namespace cairn
