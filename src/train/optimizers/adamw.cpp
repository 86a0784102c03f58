// AdamW (Loshchilov and Hutter, 2019), with moments in any coding.
#include "ops/adamw.h"

#include <cmath>

#include "train/optimizers/update_rule.h"

namespace cairn {
namespace {

class AdamWRule : public UpdateRule {
 public:
  explicit AdamWRule(const OptimizerSettings& settings) : settings_(settings) {}

  bool has_moments() const override { return true; }

  void update(const Exec& exec, const UpdateStep& step, const TrainedStretch& stretch,
              const StateViews& states) const override {
    const auto t = static_cast<double>(step.index);
    AdamW now;
    now.learning_rate = static_cast<float>(stretch.learning_rate);
    now.weight_decay = static_cast<float>(stretch.weight_decay);
    now.beta1 = static_cast<float>(settings_.beta1);
    now.beta2 = static_cast<float>(settings_.beta2);
    now.rest1 = static_cast<float>(1 - settings_.beta1);
    now.rest2 = static_cast<float>(1 - settings_.beta2);
    now.epsilon = static_cast<float>(settings_.epsilon);
    // The betas that the moments are made with: PyTorch's, or bitsandbytes' in 32 bits.
    const bool in_8_bits = !states.m;
    const double beta1 = in_8_bits ? now.beta1 : settings_.beta1;
    const double beta2 = in_8_bits ? now.beta2 : settings_.beta2;
    now.bias_correction1 = static_cast<float>(1 - std::pow(beta1, t));
    now.bias_correction2 = static_cast<float>(1 - std::pow(beta2, t));
    now.gradient_scale = static_cast<float>(step.gradient_scale);
    now.stochastic_rounding = step.stochastic_rounding;
    now.seed = settings_.seed;
    now.stream = stretch.stream;
    now.first = stretch.first;
    if (in_8_bits)
      ops::adamw_8bit(exec, now, stretch.gradient, stretch.weight, states.master, states.m_8bit,
                      states.v_8bit);
    else
      ops::adamw(exec, now, stretch.gradient, stretch.weight, states.master, states.m, states.v);
  }

 private:
  OptimizerSettings settings_;
};

}  // namespace

std::unique_ptr<UpdateRule> make_adamw_rule(const OptimizerSettings& settings) {
  return std::make_unique<AdamWRule>(settings);
}

}  // namespace cairn
