#include "model/layers/mlp.h"

#include <algorithm>

#include "ops/geglu.h"
#include "ops/swiglu.h"

namespace cairn {
namespace {

// Calls body(pass of the tile, first row) for every tile of the capacity; a batch that fills less
// ends with empty ones.
template <typename Body>
void for_each_tile(const Pass& pass, int64_t tile_size, const Body& body) {
  for (int64_t begin = 0; begin < pass.capacity.tokens; begin += tile_size) {
    Pass tile = pass;
    const int64_t first = std::min(begin, pass.tokens());
    tile.capacity.tokens = std::min(tile_size, pass.capacity.tokens - begin);
    tile.extent.tokens = std::min(tile_size, pass.tokens() - first);
    tile.positions = pass.positions.view_rows(first, tile.tokens());
    if (pass.samples) tile.samples = pass.samples.view_rows(first, tile.tokens());
    body(tile, first);
  }
}

// The gradients of a product's weights are summed by tiles of that size whether or not the rest is
// tiled: every policy adds the same sums.
void add_gradients(const Pass& pass, int64_t tile_size, const Linear& linear, ConstView d_y,
                   ConstView x) {
  for_each_tile(pass, tile_size, [&](const Pass& tile, int64_t first) {
    linear.backward_parameters(tile, d_y.view_rows(first, tile.tokens()),
                               x.view_rows(first, tile.tokens()));
  });
}

}  // namespace

int64_t Mlp::tile_of(const Pass& pass, const MlpSaved& saved) const {
  const int64_t rows = pass.capacity.tokens;
  if (tile_rows > 0) return std::min(tile_rows, rows);
  return saved.stays ? rows : std::min(kAutoTile, rows);
}

void Mlp::forward(const Pass& pass, ConstView x, MlpSaved& saved, View y, MemberSet dropped) const {
  const Ledger::Scope scope(pass.exec.arena.ledger(), "mlp");
  const int64_t tile_size = tile_of(pass, saved);
  if (tile_size == pass.capacity.tokens) return forward_rows(pass, x, saved, y, dropped);
  if (!y) return;  // backward computes each tile again
  for_each_tile(pass, tile_size, [&](const Pass& tile, int64_t first) {
    MlpSaved of_tile;
    forward_rows(tile, x.view_rows(first, tile.tokens()), of_tile,
                 y.view_rows(first, tile.tokens()), {});
  });
}

void Mlp::backward(const Pass& pass, ConstView x, MlpSaved& saved, View d) const {
  const Ledger::Scope scope(pass.exec.arena.ledger(), "mlp");
  const int64_t tile_size = tile_of(pass, saved);
  if (tile_size == pass.capacity.tokens) return backward_rows(pass, x, saved, d);
  for_each_tile(pass, tile_size, [&](const Pass& tile, int64_t first) {
    MlpSaved of_tile;
    const ConstView rows = x.view_rows(first, tile.tokens());
    forward_rows(tile, rows, of_tile, View(), {});
    backward_rows(tile, rows, of_tile, d.view_rows(first, tile.tokens()));
  });
}

void Mlp::normalize(const Pass& pass, ConstView x, MlpSaved& saved) const {
  if (!saved.rstd) saved.rstd = pass.make_statistic("rstd", 1);
  saved.normed = pass.make_activation("normed", x.columns());
  norm.forward(pass.exec, x, pass.filled(saved.normed), pass.filled(saved.rstd));
}

void Mlp::expand(const Pass& pass, MlpSaved& saved) const {
  const int64_t intermediate = gate.out();
  saved.gate = pass.make_activation("gate", intermediate);
  saved.up = pass.make_activation("up", intermediate);
  gate.forward(pass, pass.filled(saved.normed), pass.filled(saved.gate));
  up.forward(pass, pass.filled(saved.normed), pass.filled(saved.up));
}

void Mlp::multiply(const Pass& pass, MlpSaved& saved) const {
  saved.gated = pass.make_activation("gated", gate.out());
  const auto gate_up = gate_kind == GateKind::silu ? ops::swiglu_forward : ops::geglu_forward;
  gate_up(pass.exec, pass.filled(saved.gate), pass.filled(saved.up), pass.filled(saved.gated));
}

// d_up is the gradient of gated on entry.
void Mlp::multiply_backward(const Pass& pass, const MlpSaved& saved, View d_gate, View d_up) const {
  const auto of_gate_up = gate_kind == GateKind::silu ? ops::swiglu_backward : ops::geglu_backward;
  of_gate_up(pass.exec, d_up, pass.filled(saved.gate), pass.filled(saved.up), d_gate, d_up);
}

void Mlp::finish(const Pass& pass, ConstView x, MlpSaved& saved, View y) const {
  if (!output_norm) {
    if (y) down.forward(pass, pass.filled(saved.gated), y, x);
    return;
  }
  saved.normed_output.projected = pass.make_activation("projected", x.columns());
  down.forward(pass, pass.filled(saved.gated), pass.filled(saved.normed_output.projected));
  output_norm.forward(pass, x, saved.normed_output, y);
}

void Mlp::forward_rows(const Pass& pass, ConstView x, MlpSaved& saved, View y,
                       MemberSet dropped) const {
  normalize(pass, x, saved);
  expand(pass, saved);
  if (!reads_normed_trained() || dropped.has(Member::mlp_normed)) saved.normed.reset();
  if (y || down.trains() || output_norm) multiply(pass, saved);
  finish(pass, x, saved, y);
  if (!down.trains() || dropped.has(Member::gated)) saved.gated.reset();
  if (!dropped.has(Member::gate_and_up)) return;
  saved.gate.reset();
  saved.up.reset();
}

void Mlp::restore(const Pass& pass, ConstView x, MlpSaved& saved) const {
  if (!saved.normed && (reads_normed_trained() || !saved.gate)) normalize(pass, x, saved);
  if (!saved.gate) expand(pass, saved);
  if (!reads_normed_trained()) saved.normed.reset();
  if (!saved.gated && down.trains()) multiply(pass, saved);
}

void Mlp::backward_rows(const Pass& pass, ConstView x, MlpSaved& saved, View d) const {
  const Exec& exec = pass.exec;
  const int64_t intermediate = gate.out();
  const int64_t rows_of_sum = tile_rows > 0 ? tile_rows : kAutoTile;
  restore(pass, x, saved);
  Tensor d_projected;
  if (output_norm) d_projected = output_norm.backward(pass, saved.normed_output, d);
  const View d_y = output_norm ? pass.filled(d_projected) : d;
  if (down.trains()) {
    add_gradients(pass, rows_of_sum, down, d_y, pass.filled(saved.gated));
    saved.gated.reset();
  }
  Tensor d_up = pass.make_gradient("d up", intermediate);
  Tensor d_gate = pass.make_gradient("d gate", intermediate);
  const View up_rows = pass.filled(d_up), gate_rows = pass.filled(d_gate);
  down.backward_input(pass, d_y, up_rows, false);  // of gated, turned into d_up in place
  d_projected.reset();
  multiply_backward(pass, saved, gate_rows, up_rows);
  saved.gate.reset();
  saved.up.reset();

  if (reads_normed_trained()) {
    add_gradients(pass, rows_of_sum, gate, gate_rows, pass.filled(saved.normed));
    add_gradients(pass, rows_of_sum, up, up_rows, pass.filled(saved.normed));
    saved.normed.reset();
  }
  Tensor d_normed = pass.make_gradient("d normed", x.columns());
  gate.backward_input(pass, gate_rows, pass.filled(d_normed), false);
  up.backward_input(pass, up_rows, pass.filled(d_normed), true);
  norm.backward(exec, pass.filled(d_normed), x, pass.filled(saved.rstd), d);
  saved.rstd.reset();
}

}  // namespace cairn
