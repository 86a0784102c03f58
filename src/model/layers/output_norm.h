// OutputNorm: the norm that Gemma puts on what attention or MLP give, before it is added to the
// residual: y = x + norm(projected).
#pragma once

#include "model/layers/rms_norm.h"

namespace cairn {

// What forward leaves for backward; T is the capacity in tokens.
struct OutputNormSaved {
  Tensor projected;  // [T, hidden], what passes the norm
  Tensor rstd;       // [T, 1] f32
};

struct OutputNorm {
  RmsNorm norm;

  explicit operator bool() const { return bool(norm); }
  // y [tokens, hidden] = x + norm(saved.projected); y may be none: then only rstd is computed.
  void forward(const Pass& pass, ConstView x, OutputNormSaved& saved, View y) const;
  // The gradient of `projected` from d [tokens, hidden] f32, which stays: it is that of x too.
  // Gives back what `saved` holds.
  Tensor backward(const Pass& pass, OutputNormSaved& saved, ConstView d) const;
};

}  // namespace cairn
