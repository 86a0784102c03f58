// UpdateRule: the arithmetic of one optimizer, on one stretch of one parameter. It knows neither
// where states stay nor for how long.
#pragma once

#include <memory>

#include "ops/exec.h"
#include "train/optimizers/state_shape.h"

namespace cairn {

// What is the same for all of an update.
struct UpdateStep {
  int64_t index = 0;  // 1 for the first
  double gradient_scale = 1;
  bool stochastic_rounding = false;
};

// What is worked on.
struct TrainedStretch {
  ConstView gradient;  // [n] f32 or bf16
  View weight;         // [n] f32 or bf16
  double learning_rate = 0, weight_decay = 0;
  uint64_t stream = 0;  // of stochastic rounding: (update, parameter)
  int64_t first = 0;    // element of the parameter that the views begin at
};

class UpdateRule {
 public:
  virtual ~UpdateRule() = default;
  // Whether it keeps m and v.
  virtual bool has_moments() const = 0;
  virtual void update(const Exec& exec, const UpdateStep& step, const TrainedStretch& stretch,
                      const StateViews& states) const = 0;
};

// The registry of rules; each is a file of its own.
std::unique_ptr<UpdateRule> make_adamw_rule(const OptimizerSettings& settings);
std::unique_ptr<UpdateRule> make_sgd_rule(const OptimizerSettings& settings);
inline std::unique_ptr<UpdateRule> make_update_rule(const OptimizerSettings& settings) {
  return settings.rule == OptimizerRule::sgd ? make_sgd_rule(settings) : make_adamw_rule(settings);
}

}  // namespace cairn
