#include "model/layers/head_norm.h"

#include <utility>

#include "ops/moving.h"

namespace cairn {

void HeadNorm::forward(const Pass& pass, HeadNormSaved& saved, View y) const {
  if (!saved.rstd) saved.rstd = pass.make_statistic("head rstd", num_heads);
  norm.forward(pass.exec, pass.filled(std::as_const(saved.raw)).view_as(rows_shape(pass)),
               y.view_as(rows_shape(pass)), pass.filled(saved.rstd));
}

void HeadNorm::backward(const Pass& pass, HeadNormSaved& saved, Tensor& d) const {
  Tensor d_raw = pass.make_gradient("d raw heads", num_heads * head_dim);
  ops::fill_zero(pass.exec, pass.filled(d_raw));
  norm.backward(pass.exec, pass.filled(std::as_const(d)).view_as(rows_shape(pass)),
                pass.filled(std::as_const(saved.raw)).view_as(rows_shape(pass)),
                pass.filled(std::as_const(saved.rstd)),
                pass.filled(d_raw).view_as(rows_shape(pass)));
  d = std::move(d_raw);
  saved = HeadNormSaved();
}

}  // namespace cairn
