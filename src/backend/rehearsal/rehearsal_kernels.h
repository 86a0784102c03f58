// Kernels that touch no memory and count work: floating-point operations of products, bytes moved
// by everything else. Scratch sizes are those of the target's own kernels.
#pragma once

#include <memory>

#include "backend/registry.h"

namespace cairn {

class RehearsalKernels : public Kernels {
 public:
  // `target` is asked for scratch sizes only.
  explicit RehearsalKernels(std::unique_ptr<Kernels> target) : target_(std::move(target)) {}

  void fill_zero(Stream, View out) override;
  void fill_random(Stream, const RandomFill&, View out) override;
  void convert(Stream, ConstView in, View out) override;
  void add(Stream, ConstView in, View inout) override;
  void gather_rows(Stream, ConstView in, ConstView rows, View out) override;
  void scatter_rows(Stream, ConstView in, ConstView rows, View out) override;

  int64_t gemm_scratch_bytes() override;
  void gemm(Stream, const Gemm&, View scratch) override;

  void quantise_nf4(Stream, ConstView in, int64_t block, View codes, View absmax) override;
  void nest_absmax(Stream, ConstView absmax, ConstView table, View codes, View nested_absmax,
                   View offset) override;

  void embedding_forward(Stream, ConstView ids, ConstView table, float scale, View out) override;
  void embedding_backward(Stream, ConstView ids, ConstView d_out, float scale, View d_table,
                          View order) override;
  void sum_rows(Stream, ConstView in, View out) override;
  void rms_norm_forward(Stream, ConstView x, ConstView weight, float offset, float epsilon, View y,
                        View rstd) override;
  void rms_norm_backward(Stream, ConstView d_y, ConstView x, ConstView weight, float offset,
                         ConstView rstd, View d_x, View d_weight) override;
  void rope(Stream, ConstView positions, ConstView table, bool inverse, View inout) override;
  int64_t attention_scratch_bytes(int64_t head_dim, bool backward) override;
  void attention_forward(Stream, const Attention&, View out, View log_sum_exp,
                         View scratch) override;
  void attention_backward(Stream, const Attention&, ConstView out, ConstView log_sum_exp,
                          ConstView d_out, View delta, View d_q, View d_k, View d_v,
                          View scratch) override;
  int64_t attention_materialised_scratch_bytes(int64_t longest_segment) override;
  void attention_materialised_forward(Stream, const Attention&, View out, View probabilities,
                                      View scratch) override;
  void attention_materialised_backward(Stream, const Attention&, ConstView probabilities,
                                       ConstView d_out, View d_q, View d_k, View d_v,
                                       View scratch) override;
  void swiglu_forward(Stream, ConstView gate, ConstView up, View out) override;
  void swiglu_backward(Stream, ConstView d_out, ConstView gate, ConstView up, View d_gate,
                       View d_up) override;
  void geglu_forward(Stream, ConstView gate, ConstView up, View out) override;
  void geglu_backward(Stream, ConstView d_out, ConstView gate, ConstView up, View d_gate,
                      View d_up) override;
  void softcap(Stream, float cap, View inout) override;
  void dropout(Stream, const Dropout&, ConstView in, View out) override;
  void cross_entropy(Stream, ConstView labels, float scale, float softcap, bool gradient,
                     View logits, View row_loss) override;

  int64_t sum_of_squares_scratch_bytes() override;
  void sum_of_squares(Stream, ConstView in, View out, View scratch) override;
  void adamw(Stream, const AdamW&, ConstView gradient, View weight, View master, View m,
             View v) override;
  void adamw_8bit(Stream, const AdamW&, ConstView gradient, View weight, View master,
                  const BlockCodes& m, const BlockCodes& v) override;
  void sgd(Stream, const Sgd&, ConstView gradient, View weight, View master) override;
  void encode_blocks(Stream, bool is_signed, ConstView in, const BlockCodes& out) override;
  void decode_blocks(Stream, bool is_signed, const BlockCodes& in, View out) override;

  const Work& work() const { return work_; }
  void reset_work() { work_ = {}; }

 private:
  template <typename... Views>
  void count_bytes(const Views&... views) {
    work_.bytes_moved += (static_cast<double>(views.bytes()) + ...);
  }
  void count_trained(ConstView gradient, View weight, View master);

  std::unique_ptr<Kernels> target_;
  Work work_;
};

}  // namespace cairn
