#include "model/layers/rms_norm.h"

#include <algorithm>

#include "ops/rms_norm.h"

namespace cairn {
namespace {

// Rows whose gradients of the weight are summed before they are added to it: a tile of an MLP, so
// that the sums are the same whether a policy computes its block in tiles or keeps it whole.
constexpr int64_t kRowsOfSum = 4096;

}  // namespace

void RmsNorm::forward(const Exec& exec, ConstView x, View y, View rstd) const {
  ops::rms_norm_forward(exec, x, weight->value, epsilon, y, rstd, offset);
}

void RmsNorm::backward(const Exec& exec, ConstView d_y, ConstView x, ConstView rstd,
                       View d_x) const {
  const View d_weight = weight->trainable ? weight->gradient.view() : View();
  const auto backward_rows = [&](int64_t first, int64_t rows) {
    const auto part = [&](auto view) { return view.view_as(x.shape()).view_rows(first, rows); };
    ops::rms_norm_backward(exec, part(d_y), part(x), weight->value,
                           rstd.view_as({x.rows()}).view_rows(first, rows), part(d_x), d_weight,
                           offset);
  };
  if (!d_weight) return backward_rows(0, x.rows());
  for (int64_t first = 0; first < x.rows(); first += kRowsOfSum)
    backward_rows(first, std::min(kRowsOfSum, x.rows() - first));
}

}  // namespace cairn
