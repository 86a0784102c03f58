// Linear: y = x W^T (+ s x A^T B^T with a low-rank pair, folded into the product). Frozen weights
// get no gradient; a pair's gradients need only x, so forward leaves nothing of its own behind.
#pragma once

#include "model/parameter.h"
#include "model/pass.h"

namespace cairn {

struct Linear {
  Parameter* weight = nullptr;  // [out, in]
  Parameter* lora_a = nullptr;  // [rank, in], or none
  Parameter* lora_b = nullptr;  // [out, rank], or none
  float lora_scale = 0;

  // True if backward needs the input: the weight or the pair is trained.
  bool trains() const { return weight->trainable || (lora_a && lora_a->trainable); }

  // x [rows, in], y [rows, out] = x W^T + residual; residual of y's type, or none.
  void forward(const Exec& exec, ConstView x, View y, ConstView residual = {}) const;
  // d_y [rows, out] f32, d_x [rows, in] f32; adds to d_x if `accumulate`.
  void backward_input(const Exec& exec, ConstView d_y, View d_x, bool accumulate) const;
  // Adds to the gradients of what is trained. `capacity_rows` sizes the scratch of the pair.
  void backward_parameters(const Exec& exec, ConstView d_y, ConstView x,
                           int64_t capacity_rows) const;

 private:
  LowRank fold() const;
};

}  // namespace cairn
