#include "train/sharding/shared_gradients.h"

#include "ops/moving.h"

namespace cairn {

SharedGradients::SharedGradients(const Exec& exec, Communicator& ranks, DType storage, bool overlap)
    : exec_(exec), ranks_(ranks), storage_(storage), overlap_(overlap) {}

void SharedGradients::open(const Unit& unit) {
  for (Parameter* parameter : unit) {
    const Ledger::Scope scope(exec_.arena.ledger(), parameter->name);
    parameter->gradient =
        exec_.make(Account::workspace, "whole gradient", storage_, parameter->shape);
    ops::fill_zero(exec_, parameter->gradient.view());
  }
}

void SharedGradients::close(const Unit& unit) {
  finish();
  std::vector<SharedPart> parts;
  for (Parameter* parameter : unit) {
    const View whole = parameter->gradient.view().view_as({parameter->elements()});
    parts.push_back({whole, parameter->view_own_gradient(), parameter->cut.share});
    leaving_.push_back(std::move(parameter->gradient));
  }
  exec_.backend.device().wait(exec_.stream);
  pending_ = ranks_.start_reduce_scatter(std::move(parts), true);
  if (!overlap_) finish();
}

void SharedGradients::finish() {
  pending_.wait();
  leaving_.clear();
}

}  // namespace cairn
