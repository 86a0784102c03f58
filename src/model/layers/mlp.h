// Mlp: norm, gate and up products, silu(gate) * up, down product, residual.
#pragma once

#include "model/layers/linear.h"
#include "model/layers/rms_norm.h"

namespace cairn {

// What forward leaves for backward; T is the capacity in tokens.
struct MlpSaved {
  Tensor rstd;    // [T, 1] f32
  Tensor normed;  // [T, hidden], only if gate or up is trained
  Tensor gate;    // [T, intermediate], before silu
  Tensor up;      // [T, intermediate]
  Tensor gated;   // [T, intermediate] = silu(gate) * up, only if down is trained
};

struct Mlp {
  RmsNorm norm;
  Linear gate, up, down;

  // y [tokens, hidden] = x + mlp(norm(x)); without y the last product, which no backward needs, is
  // left out.
  void forward(const Pass& pass, ConstView x, MlpSaved& saved, View y) const;
  // d [tokens, hidden] f32 is d_y on entry and d_x on return. Gives back what `saved` holds.
  void backward(const Pass& pass, ConstView x, MlpSaved& saved, View d) const;

 private:
  bool reads_normed_trained() const { return gate.trains() || up.trains(); }
};

}  // namespace cairn
