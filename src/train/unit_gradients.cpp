#include "train/unit_gradients.h"

#include "ops/moving.h"
#include "ops/sum_of_squares.h"

namespace cairn {

UnitGradients::UnitGradients(const Exec& exec, DType storage, Complete complete)
    : exec_(exec), storage_(storage), complete_(std::move(complete)) {}

void UnitGradients::open(const Unit& unit) {
  for (Parameter* parameter : unit) {
    const Ledger::Scope scope(exec_.arena.ledger(), parameter->name);
    parameter->gradient = exec_.make(Account::gradients, "gradient", storage_, parameter->shape);
    ops::fill_zero(exec_, parameter->gradient.view());
  }
}

void UnitGradients::close(const Unit& unit) {
  std::vector<double> squares(unit.size());
  {
    Tensor sums = exec_.make(Account::workspace, "squared norms", DType::f64,
                             {static_cast<int64_t>(unit.size())});
    for (size_t i = 0; i < unit.size(); ++i)
      ops::sum_of_squares(exec_, unit[i]->gradient.view(),
                          sums.view().view_rows(static_cast<int64_t>(i), 1));
    exec_.backend.device().copy_to_host(exec_.stream, sums.view().data(), squares.data(),
                                        sums.bytes());
    exec_.backend.device().wait(exec_.stream);
  }
  complete_(unit, squares);
  for (Parameter* parameter : unit) parameter->gradient.reset();
}

}  // namespace cairn
