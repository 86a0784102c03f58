// Mlp: norm, gate and up products, act(gate) * up, down product, its norm if the family has one,
// residual. act is SiLU, or GELU in its tanh form. It works row by row, so
// that a long sequence may pass in tiles, whose working set does not grow with the sequence.
#pragma once

#include "model/checkpoint_policy.h"
#include "model/config.h"
#include "model/layers/linear.h"
#include "model/layers/output_norm.h"

namespace cairn {

// What forward leaves for backward; T is the capacity in tokens. Nothing, if the MLP is tiled.
struct MlpSaved {
  // Set before forward if other blocks run before backward: then tiles would be computed twice for
  // it alone, and nobody but the recipe asks for that.
  bool stays = false;
  Tensor rstd;                    // [T, 1] f32
  Tensor normed;                  // [T, hidden], only if gate or up is trained
  Tensor gate;                    // [T, intermediate], before act
  Tensor up;                      // [T, intermediate]
  Tensor gated;                   // [T, intermediate] = act(gate) * up, only if down is trained
  OutputNormSaved normed_output;  // only if the output is normed
};

struct Mlp {
  RmsNorm norm;
  Linear gate, up, down;
  OutputNorm output_norm;
  GateKind gate_kind = GateKind::silu;
  int64_t tile_rows = 0;  // tokens of a tile; 0: kAutoTile of them, but all of what stays
  static constexpr int64_t kAutoTile = 4096;

  // y [tokens, hidden] = x + norm(mlp(norm(x))); without y the last product is left out, unless a
  // norm of it needs it in backward. Members in `dropped` are not left behind: backward computes
  // them again.
  void forward(const Pass& pass, ConstView x, MlpSaved& saved, View y,
               MemberSet dropped = {}) const;
  // d [tokens, hidden] f32 is d_y on entry and d_x on return. Gives back what `saved` holds.
  void backward(const Pass& pass, ConstView x, MlpSaved& saved, View d) const;

 private:
  // Rows of a tile, all of them if it is not tiled: a function of shape and policy alone.
  int64_t tile_of(const Pass& pass, const MlpSaved& saved) const;
  void forward_rows(const Pass& pass, ConstView x, MlpSaved& saved, View y,
                    MemberSet dropped) const;
  void backward_rows(const Pass& pass, ConstView x, MlpSaved& saved, View d) const;
  bool reads_normed_trained() const { return gate.trains() || up.trains(); }
  void normalize(const Pass& pass, ConstView x, MlpSaved& saved) const;
  void expand(const Pass& pass, MlpSaved& saved) const;
  void multiply(const Pass& pass, MlpSaved& saved) const;
  void multiply_backward(const Pass& pass, const MlpSaved& saved, View d_gate, View d_up) const;
  void finish(const Pass& pass, ConstView x, MlpSaved& saved, View y) const;
  // Computes again what forward dropped and backward reads.
  void restore(const Pass& pass, ConstView x, MlpSaved& saved) const;
};

}  // namespace cairn
