// Linear: y = x W^T + b (+ s dropout(x) A^T B^T with a low-rank pair). Without dropout the pair is
// folded into the product; with it, it is two thin products of its own, over pieces of rows. Frozen
// weights get no gradient; a pair's gradients need only x, so forward leaves nothing of its own
// behind: what was dropped is drawn again. A product may be a slice of rows of a fused weight.
#pragma once

#include "model/parameter.h"
#include "model/pass.h"

namespace cairn {

struct Linear {
  Parameter* weight = nullptr;  // [out, in], or more rows if it is fused
  Parameter* bias = nullptr;    // [out], or none
  Parameter* lora_a = nullptr;  // [rank, in], or none
  Parameter* lora_b = nullptr;  // [out, rank], or none; as many rows as the weight
  int64_t first = 0, rows = 0;  // the slice of the weight's rows; 0 rows: all
  float lora_scale = 0;
  float dropout = 0;            // of the pair's input, in passes that drop
  uint32_t dropout_stream = 0;  // different for every pair of the model

  int64_t out() const { return rows > 0 ? rows : weight->shape[0]; }
  int64_t in() const { return weight->shape[1]; }
  // True if backward needs the input: the weight or the pair is trained.
  bool trains() const { return weight->trainable || (lora_a && lora_a->trainable); }

  // x [rows, in], y [rows, out] = x W^T + b + residual; residual of y's type, or none. A pair wants
  // the rows of the pass.
  void forward(const Pass& pass, ConstView x, View y, ConstView residual = {}) const;
  // d_y [rows, out] f32, d_x [rows, in] f32; adds to d_x if `accumulate`.
  void backward_input(const Pass& pass, ConstView d_y, View d_x, bool accumulate) const;
  // Adds to the gradients of what is trained.
  void backward_parameters(const Pass& pass, ConstView d_y, ConstView x) const;

 private:
  bool drops(const Pass& pass) const { return lora_a && dropout > 0 && pass.samples; }
  // What is dropped takes its share of the sum away; the rest makes up for it.
  float pair_scale(const Pass& pass) const {
    return drops(pass) ? lora_scale / (1 - dropout) : lora_scale;
  }
  // The rows of this product, of a weight, of B or of a gradient.
  template <typename Rows>
  Rows slice(Rows all) const {
    return rows > 0 ? all.view_rows(first, rows) : all;
  }
  QuantState quant() const;
  LowRank fold(const Pass& pass) const;
  // The pair's part alone, with what this pass drops.
  void add_pair(const Pass& pass, ConstView x, View y) const;
  void add_pair_to_input(const Pass& pass, ConstView d_y, View d_x) const;
  void add_pair_gradients(const Pass& pass, ConstView d_y, ConstView x) const;
};

}  // namespace cairn
