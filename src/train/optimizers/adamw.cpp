#include "train/optimizers/adamw.h"

#include <cmath>

#include "ops/adamw.h"
#include "ops/moving.h"

namespace cairn {

void AdamWOptimizer::allocate(const Exec& exec) {
  const TrainedPrecision precision = model_.spec().precision;
  const DType moment = precision == TrainedPrecision::pure_bf16 ? DType::bf16 : DType::f32;
  for (Parameter& parameter : model_.parameters()) {
    if (!parameter.trainable) continue;
    const Ledger::Scope scope(exec.arena.ledger(), parameter.name);
    State& state = states_.emplace_back();
    state.parameter = &parameter;
    if (precision == TrainedPrecision::mixed)
      state.master = exec.make(Account::optimizer, "master", DType::f32, parameter.shape);
    state.m = exec.make(Account::optimizer, "m", moment, parameter.shape);
    state.v = exec.make(Account::optimizer, "v", moment, parameter.shape);
    ops::fill_zero(exec, state.m.view());
    ops::fill_zero(exec, state.v.view());
  }
}

void AdamWOptimizer::start(const Exec& exec) {
  for (State& state : states_)
    if (state.master) ops::convert(exec, state.parameter->value.view(), state.master.view());
}

void AdamWOptimizer::update(const Exec& exec, double learning_rate, double gradient_scale) {
  ++updates_;
  const auto t = static_cast<double>(updates_);
  AdamW now;
  now.beta1 = static_cast<float>(settings_.beta1);
  now.beta2 = static_cast<float>(settings_.beta2);
  now.epsilon = static_cast<float>(settings_.epsilon);
  now.bias_correction1 = static_cast<float>(1 - std::pow(settings_.beta1, t));
  now.bias_correction2 = static_cast<float>(1 - std::pow(settings_.beta2, t));
  now.gradient_scale = static_cast<float>(gradient_scale);
  now.stochastic_rounding = model_.spec().precision == TrainedPrecision::pure_bf16;
  now.seed = settings_.seed;
  for (size_t i = 0; i < states_.size(); ++i) {
    State& state = states_[i];
    now.weight_decay = state.parameter->decays ? static_cast<float>(settings_.weight_decay) : 0.0f;
    now.learning_rate = static_cast<float>(learning_rate * state.parameter->learning_rate_scale);
    now.stream = static_cast<uint64_t>(updates_) << 32 | i;
    ops::adamw(exec, now, state.parameter->gradient.view(), state.parameter->value.view(),
               state.master ? state.master.view() : View(), state.m.view(), state.v.view());
  }
}

}  // namespace cairn
