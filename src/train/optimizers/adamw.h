// AdamW (Loshchilov and Hutter, 2019) over the trained parameters of a model. It owns the optimizer
// account: two moments of each parameter, and a master copy in the mixed mode.
#pragma once

#include <vector>

#include "model/model.h"

namespace cairn {

struct AdamWSettings {
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  double weight_decay = 0;  // of parameters in the decay group
  uint64_t seed = 42;       // of stochastic rounding
};

class AdamWOptimizer {
 public:
  AdamWOptimizer(Model& model, const AdamWSettings& settings)
      : model_(model), settings_(settings) {}

  // Takes the states' memory, zero; call after Model::allocate.
  void allocate(const Exec& exec);
  // Copies the loaded weights into the masters; call once weights are there.
  void start(const Exec& exec);
  // One update from the gradients, each times `gradient_scale`.
  void update(const Exec& exec, double learning_rate, double gradient_scale);
  int64_t updates() const { return updates_; }

 private:
  struct State {
    Parameter* parameter;
    Tensor master, m, v;
  };

  Model& model_;
  AdamWSettings settings_;
  std::vector<State> states_;
  int64_t updates_ = 0;
};

}  // namespace cairn
