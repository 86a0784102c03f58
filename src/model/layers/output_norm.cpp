#include "model/layers/output_norm.h"

#include <utility>

#include "ops/moving.h"

namespace cairn {

void OutputNorm::forward(const Pass& pass, ConstView x, OutputNormSaved& saved, View y) const {
  saved.rstd = pass.make_statistic("output rstd", 1);
  const ConstView projected = pass.filled(std::as_const(saved.projected));
  if (!y) {
    Tensor unused = pass.make_activation("normed output", x.columns());
    norm.forward(pass.exec, projected, pass.filled(unused), pass.filled(saved.rstd));
    return;
  }
  norm.forward(pass.exec, projected, y, pass.filled(saved.rstd));
  ops::add(pass.exec, x, y);
}

Tensor OutputNorm::backward(const Pass& pass, OutputNormSaved& saved, ConstView d) const {
  Tensor d_projected = pass.make_gradient("d projected", d.columns());
  ops::fill_zero(pass.exec, pass.filled(d_projected));
  norm.backward(pass.exec, d, pass.filled(std::as_const(saved.projected)),
                pass.filled(std::as_const(saved.rstd)), pass.filled(d_projected));
  saved = OutputNormSaved();
  return d_projected;
}

}  // namespace cairn
