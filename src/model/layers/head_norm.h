// HeadNorms: the norms of every head of queries and keys (Qwen3, Gemma 3), between the products and
// the rotation.
#pragma once

#include "model/layers/rms_norm.h"

namespace cairn {

// What forward leaves for backward; T is the capacity in tokens. Backward computes the normed heads
// again: it costs no product.
struct HeadNormSaved {
  Tensor raw;   // [T, heads * head_dim], before the norm
  Tensor rstd;  // [T, heads] f32
};

struct HeadNorm {
  RmsNorm norm;  // [head_dim]
  int64_t num_heads = 0, head_dim = 0;

  explicit operator bool() const { return bool(norm); }
  // y [tokens, heads * head_dim] of saved.raw.
  void forward(const Pass& pass, HeadNormSaved& saved, View y) const;
  // `d` [T, heads * head_dim] f32 is the gradient of y on entry, of raw on return. Gives back what
  // `saved` holds.
  void backward(const Pass& pass, HeadNormSaved& saved, Tensor& d) const;

 private:
  Shape rows_shape(const Pass& pass) const { return {pass.tokens() * num_heads, head_dim}; }
};

}  // namespace cairn
