// AdamW over several steps against double precision, with a beta so near 1 that 1 - beta has few
// digits left where beta was rounded to 32 bits first.
#include <gtest/gtest.h>

#include <cmath>

#include "backend/registry.h"
#include "reference/adamw.h"
#include "support/op_run.h"
#include "support/tolerance.h"
#include "train/optimizers/update_rule.h"

namespace cairn::test {
namespace {

constexpr int64_t kCount = 67;
constexpr int64_t kSteps = 5;
// Each step rounds a gradient's square, the sum and the root.
constexpr int64_t kRoundings = 8;

OptimizerSettings slow_settings() {
  OptimizerSettings settings;
  settings.beta1 = 0.99;
  settings.beta2 = 0.99999;
  return settings;
}

TEST(AdamWRule, moments_and_steps_are_those_of_double_precision_with_a_beta_near_one) {
  const OptimizerSettings settings = slow_settings();
  const auto rule = make_update_rule(settings);
  const auto backend = open_backend("cpu", 1);
  HostTensor weight = HostTensor(DType::f32, {kCount}).fill_normal(1);
  HostTensor m(DType::f32, {kCount}), v(DType::f32, {kCount});
  std::vector<reference::AdamWElement> wanted;
  for (int64_t i = 0; i < kCount; ++i) wanted.push_back({weight.at(i), 0, 0});
  for (int64_t t = 1; t <= kSteps; ++t) {
    HostTensor gradient =
        HostTensor(DType::f32, {kCount}).fill_normal(static_cast<uint64_t>(10 + t));
    run_op(*backend, {&gradient, &weight, &m, &v},
           [&](const Exec& exec, const std::vector<View>& x) {
             StateViews states;
             states.m = x[2];
             states.v = x[3];
             rule->update(exec, {.index = t},
                          {.gradient = x[0], .weight = x[1], .learning_rate = 1e-3}, states);
           });
    const double power = static_cast<double>(t);
    const reference::AdamWSettings exact{1e-3,
                                         settings.beta1,
                                         settings.beta2,
                                         1 - settings.beta1,
                                         1 - settings.beta2,
                                         settings.epsilon,
                                         0,
                                         1 - std::pow(settings.beta1, power),
                                         1 - std::pow(settings.beta2, power),
                                         1};
    for (int64_t i = 0; i < kCount; ++i) {
      auto& element = wanted[static_cast<size_t>(i)];
      element = reference::adamw(exact, gradient.at(i), element);
      const double allowed = tolerance(DType::f32, kRoundings * t);
      EXPECT_NEAR(v.at(i), element.v, allowed * element.v) << "step " << t << " at " << i;
      EXPECT_NEAR(weight.at(i), element.weight, allowed * (std::abs(element.weight) + 1e-3))
          << "step " << t << " at " << i;
    }
  }
}

// The first step of any beta is by the rate, whatever the gradient: both corrections undo what the
// moments weigh it with.
TEST(AdamWRule, the_first_step_is_the_learning_rate_in_8_bits_too) {
  const auto rule = make_update_rule(slow_settings());
  const auto backend = open_backend("cpu", 1);
  HostTensor gradient(DType::f32, {kCount}), weight(DType::f32, {kCount});
  for (int64_t i = 0; i < kCount; ++i) gradient.set(i, i % 2 == 0 ? 1 : -1);
  HostTensor m(DType::u8, {kCount}), v(DType::u8, {kCount});
  HostTensor m_scale(DType::f32, {1}), v_scale(DType::f32, {1});
  run_op(*backend, {&gradient, &weight, &m, &m_scale, &v, &v_scale},
         [&](const Exec& exec, const std::vector<View>& x) {
           StateViews states;
           states.m_8bit = {x[2], x[3]};
           states.v_8bit = {x[4], x[5]};
           rule->update(exec, {.index = 1},
                        {.gradient = x[0], .weight = x[1], .learning_rate = 1e-3}, states);
         });
  const double allowed = tolerance(DType::f32, kRoundings);
  for (int64_t i = 0; i < kCount; ++i)
    EXPECT_NEAR(weight.at(i), -1e-3 * gradient.at(i), allowed * 1e-3) << "at " << i;
}

}  // namespace
}  // namespace cairn::test
