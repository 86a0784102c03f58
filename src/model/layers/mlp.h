// Mlp: norm, gate and up products, silu(gate) * up, down product, residual. It works row by row, so
// that a long sequence may pass in tiles, whose working set does not grow with the sequence.
#pragma once

#include "model/checkpoint_policy.h"
#include "model/layers/linear.h"
#include "model/layers/rms_norm.h"

namespace cairn {

// What forward leaves for backward; T is the capacity in tokens. Nothing, if the MLP is tiled.
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
  int64_t tile_rows = 0;  // tokens of a tile; 0: kAutoTile of them, above twice as many
  static constexpr int64_t kAutoTile = 4096;

  // y [tokens, hidden] = x + mlp(norm(x)); without y the last product, which no backward needs, is
  // left out. Members in `dropped` are not left behind: backward computes them again.
  void forward(const Pass& pass, ConstView x, MlpSaved& saved, View y,
               MemberSet dropped = {}) const;
  // d [tokens, hidden] f32 is d_y on entry and d_x on return. Gives back what `saved` holds.
  void backward(const Pass& pass, ConstView x, MlpSaved& saved, View d) const;

 private:
  // Rows of a tile, all of them if it is not tiled: a function of the shape alone.
  int64_t tile_of(const Pass& pass) const;
  void forward_rows(const Pass& pass, ConstView x, MlpSaved& saved, View y,
                    MemberSet dropped) const;
  void backward_rows(const Pass& pass, ConstView x, MlpSaved& saved, View d) const;
  bool reads_normed_trained() const { return gate.trains() || up.trains(); }
  void normalize(const Pass& pass, ConstView x, MlpSaved& saved) const;
  void expand(const Pass& pass, MlpSaved& saved) const;
  void multiply(const Pass& pass, MlpSaved& saved) const;
  // Computes again what forward dropped and backward reads.
  void restore(const Pass& pass, ConstView x, MlpSaved& saved) const;
};

}  // namespace cairn
