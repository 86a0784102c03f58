// AdamW in every storage of weight, master and moments, rounding to nearest.
#include "ops/adamw.h"
#include "parity/op_case.h"
#include "reference/adamw.h"

namespace cairn::test {
namespace {

struct Storage {
  std::string name;
  DType gradient, weight, m, v;
  bool master;
};

const AdamW kSettings{.learning_rate = 0.01f,
                      .beta1 = 0.9f,
                      .beta2 = 0.99f,
                      .epsilon = 1e-6f,
                      .weight_decay = 0.1f,
                      .bias_correction1 = 0.271f,
                      .bias_correction2 = 0.0297f,
                      .gradient_scale = 0.5f};

OpCase adamw_case(const Storage& storage, int64_t count) {
  OpCase op{fmt::format("adamw_{}_{}", storage.name, count), {}, {}};
  const HostTensor gradient = HostTensor(storage.gradient, {count}).fill_normal(1);
  const HostTensor master = HostTensor(DType::f32, {count}).fill_normal(2);
  HostTensor weight(storage.weight, {count});
  weight.fill(master.values());
  HostTensor m = HostTensor(storage.m, {count}).fill_normal(3, 0.1);
  HostTensor v = HostTensor(storage.v, {count}).fill_normal(4, 0.1);
  for (int64_t i = 0; i < count; ++i) v.set(i, v.at(i) * v.at(i));

  const AdamW& s = kSettings;
  const reference::AdamWSettings settings{s.learning_rate,    s.beta1,         s.beta2,
                                          s.epsilon,          s.weight_decay,  s.bias_correction1,
                                          s.bias_correction2, s.gradient_scale};
  reference::Bounded<double> want_weight(count), want_m(count), want_v(count);
  for (int64_t i = 0; i < count; ++i) {
    const double before = storage.master ? master.at(i) : weight.at(i);
    const auto after = reference::adamw(settings, gradient.at(i), {before, m.at(i), v.at(i)});
    const double m_terms = std::abs(m.at(i)) + std::abs(gradient.at(i) * s.gradient_scale);
    const double step = s.learning_rate / s.bias_correction1 * m_terms /
                        (std::sqrt(after.v / s.bias_correction2) + s.epsilon);
    // The step reads the moments as they are stored.
    const double stored = 2 * (tolerance(storage.m, 1) + tolerance(storage.v, 1));
    want_m.add(i, after.m, m_terms);
    want_v.add(i, after.v, after.v);
    want_weight.add(i, after.weight,
                    std::abs(before) + step * (1 + stored / tolerance(DType::f32, 1)));
  }
  op.add("gradient", gradient);
  op.add("weight", weight).expect(want_weight, 1);
  op.add("m", m).expect(want_m, 1);
  op.add("v", v).expect(want_v, 1);
  if (storage.master) op.add("master", master).expect(want_weight, 1);
  op.call = [has_master = storage.master](const Exec& exec, const std::vector<View>& x) {
    ops::adamw(exec, kSettings, x[0], x[1], has_master ? x[4] : View(), x[2], x[3]);
  };
  return op;
}

}  // namespace

std::vector<OpCase> optimizer_cases() {
  constexpr DType f32 = DType::f32, bf16 = DType::bf16;
  std::vector<OpCase> cases;
  for (const Storage& storage : {Storage{"f32", f32, f32, f32, f32, false},
                                 {"mixed", bf16, bf16, f32, f32, true},
                                 {"mixed_f32_gradient", f32, bf16, f32, f32, true},
                                 {"pure_bf16", bf16, bf16, bf16, bf16, false},
                                 {"bf16_weight", f32, bf16, f32, f32, false}})
    for (const int64_t count : {0, 1, 17, 16385}) cases.push_back(adamw_case(storage, count));
  return cases;
}

}  // namespace cairn::test
