// UnitGradients: gradients that live only while their unit's backward runs. What is done with
// complete ones is the caller's: measured, or applied at once (the optimizer in backward).
#pragma once

#include <functional>
#include <vector>

#include "model/gradient_store.h"

namespace cairn {

class UnitGradients : public GradientStore {
 public:
  // Called with a unit and the sums of squares of its gradients, while they are there.
  using Complete = std::function<void(const Unit& unit, std::span<const double> squares)>;

  UnitGradients(const Exec& exec, DType storage, Complete complete);

  void open(const Unit& unit) override;
  void close(const Unit& unit) override;

 private:
  const Exec& exec_;
  DType storage_;
  Complete complete_;
};

}  // namespace cairn
