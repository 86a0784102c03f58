#include "model/layers/mlp.h"

#include "ops/swiglu.h"

namespace cairn {

void Mlp::forward(const Pass& pass, ConstView x, MlpSaved& saved, View y) const {
  const Exec& exec = pass.exec;
  const Ledger::Scope scope(exec.arena.ledger(), "mlp");
  const int64_t intermediate = gate.weight->shape[0];
  saved.rstd = pass.make_statistic("rstd", 1);
  saved.normed = pass.make_activation("normed", x.columns());
  saved.gate = pass.make_activation("gate", intermediate);
  saved.up = pass.make_activation("up", intermediate);
  saved.gated = pass.make_activation("gated", intermediate);

  const View normed = pass.filled(saved.normed);
  norm.forward(exec, x, normed, pass.filled(saved.rstd));
  gate.forward(exec, normed, pass.filled(saved.gate));
  up.forward(exec, normed, pass.filled(saved.up));
  if (!reads_normed_trained()) saved.normed.reset();
  if (y || down.trains()) {
    ops::swiglu_forward(exec, pass.filled(saved.gate), pass.filled(saved.up),
                        pass.filled(saved.gated));
    if (y) down.forward(exec, pass.filled(saved.gated), y, x);
  }
  if (!down.trains()) saved.gated.reset();
}

void Mlp::backward(const Pass& pass, ConstView x, MlpSaved& saved, View d) const {
  const Exec& exec = pass.exec;
  const Ledger::Scope scope(exec.arena.ledger(), "mlp");
  const int64_t capacity = pass.capacity.tokens;
  const int64_t intermediate = gate.weight->shape[0];
  if (down.trains()) {
    down.backward_parameters(exec, d, pass.filled(saved.gated), capacity);
    saved.gated.reset();
  }
  Tensor d_up = pass.make_gradient("d up", intermediate);
  Tensor d_gate = pass.make_gradient("d gate", intermediate);
  const View up_rows = pass.filled(d_up), gate_rows = pass.filled(d_gate);
  down.backward_input(exec, d, up_rows, false);  // the gradient of gated, turned into d_up in place
  ops::swiglu_backward(exec, up_rows, pass.filled(saved.gate), pass.filled(saved.up), gate_rows,
                       up_rows);
  saved.gate.reset();
  saved.up.reset();

  if (reads_normed_trained()) {
    gate.backward_parameters(exec, gate_rows, pass.filled(saved.normed), capacity);
    up.backward_parameters(exec, up_rows, pass.filled(saved.normed), capacity);
    saved.normed.reset();
  }
  Tensor d_normed = pass.make_gradient("d normed", x.columns());
  gate.backward_input(exec, gate_rows, pass.filled(d_normed), false);
  up.backward_input(exec, up_rows, pass.filled(d_normed), true);
  norm.backward(exec, pass.filled(d_normed), x, pass.filled(saved.rstd), d);
  saved.rstd.reset();
}

}  // namespace cairn
