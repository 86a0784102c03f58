// Plain SGD, as torch.optim.SGD without momentum: no moments at all.
#include "ops/sgd.h"

#include "train/optimizers/update_rule.h"

namespace cairn {
namespace {

class SgdRule : public UpdateRule {
 public:
  explicit SgdRule(uint64_t seed) : seed_(seed) {}

  bool has_moments() const override { return false; }

  void update(const Exec& exec, const UpdateStep& step, const TrainedStretch& stretch,
              const StateViews& states) const override {
    Sgd now;
    now.learning_rate = static_cast<float>(stretch.learning_rate);
    now.weight_decay = static_cast<float>(stretch.weight_decay);
    now.gradient_scale = static_cast<float>(step.gradient_scale);
    now.stochastic_rounding = step.stochastic_rounding;
    now.seed = seed_;
    now.stream = stretch.stream;
    now.first = stretch.first;
    ops::sgd(exec, now, stretch.gradient, stretch.weight, states.master);
  }

 private:
  uint64_t seed_;
};

}  // namespace

std::unique_ptr<UpdateRule> make_sgd_rule(const OptimizerSettings& settings) {
  return std::make_unique<SgdRule>(settings.seed);
}

}  // namespace cairn
