// The updates of parameters in every storage of weight, master and moments, rounding to nearest,
// and the coding of moments in 8 bits.
#include "ops/adamw.h"
#include "ops/block_codes.h"
#include "ops/sgd.h"
#include "parity/op_case.h"
#include "reference/adamw.h"
#include "reference/adamw_8bit.h"

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
                      .rest1 = 0.1f,
                      .rest2 = 0.01f,
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
  const reference::AdamWSettings settings{s.learning_rate,
                                          s.beta1,
                                          s.beta2,
                                          s.rest1,
                                          s.rest2,
                                          s.epsilon,
                                          s.weight_decay,
                                          s.bias_correction1,
                                          s.bias_correction2,
                                          s.gradient_scale};
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

std::vector<float> floats_of(const HostTensor& tensor) {
  std::vector<float> values;
  for (double value : tensor.values()) values.push_back(static_cast<float>(value));
  return values;
}

template <typename T>
std::vector<double> doubles_of(const std::vector<T>& values) {
  return {values.begin(), values.end()};
}

// Values of many sizes, some zero, and a whole block of zeros.
std::vector<float> wide_values(int64_t count, uint64_t stream) {
  const Random random(23, stream);
  std::vector<float> values;
  for (uint64_t i = 0; i < static_cast<uint64_t>(count); ++i) {
    const bool zero = i % 7 == 3 || (i >= 256 && i < 512);
    values.push_back(zero ? 0 : random.normal(2 * i) * std::exp2(-20 * random.uniform(2 * i + 1)));
  }
  return values;
}

// The two operands of a coded state; `after`, if given, is what they must become.
void add_codes(OpCase& op, const std::string& name, const reference::CodedState& before,
               const reference::CodedState* after) {
  const auto elements = static_cast<int64_t>(before.codes.size());
  const auto blocks = static_cast<int64_t>(before.scales.size());
  HostTensor codes = HostTensor(DType::u8, {elements}).fill(doubles_of(before.codes));
  HostTensor scales = HostTensor(DType::f32, {blocks}).fill(doubles_of(before.scales));
  Operand& coded = op.add(name + " codes", std::move(codes));
  if (after) coded.expect_exactly(doubles_of(after->codes));
  Operand& scaled = op.add(name + " scales", std::move(scales));
  if (after) scaled.expect_exactly(doubles_of(after->scales));
}

OpCase adamw_8bit_case(const Storage& storage, int64_t count) {
  OpCase op{fmt::format("adamw_8bit_{}_{}", storage.name, count), {}, {}};
  HostTensor gradient = HostTensor(storage.gradient, {count});
  gradient.fill(doubles_of(wide_values(count, 1)));
  // No state may be poisoned.
  if (count > 5) gradient.set(2, std::nan(""));
  if (count > 5) gradient.set(5, -INFINITY);
  if (count > 300) gradient.set(300, 1e30);
  const HostTensor master = HostTensor(DType::f32, {count}).fill_normal(2);
  HostTensor weight(storage.weight, {count});
  weight.fill(master.values());
  reference::CodedState m = reference::encode(wide_values(count, 3), true);
  std::vector<float> squares = wide_values(count, 4);
  for (float& square : squares) square *= square;
  reference::CodedState v = reference::encode(squares, false);
  const reference::CodedState m_before = m, v_before = v;

  std::vector<float> trained = floats_of(storage.master ? master : weight);
  reference::adamw_8bit(kSettings, floats_of(gradient), trained, m, v);
  HostTensor want(storage.weight, {count});
  want.fill(doubles_of(trained));
  op.add("gradient", gradient);
  op.add("weight", weight).expect_exactly(want.values());
  add_codes(op, "m", m_before, &m);
  add_codes(op, "v", v_before, &v);
  if (storage.master) op.add("master", master).expect_exactly(doubles_of(trained));
  op.call = [has_master = storage.master](const Exec& exec, const std::vector<View>& x) {
    ops::adamw_8bit(exec, kSettings, x[0], x[1], has_master ? x[6] : View(), {x[2], x[3]},
                    {x[4], x[5]});
  };
  return op;
}

OpCase encode_case(bool is_signed, int64_t count) {
  OpCase op{fmt::format("encode_{}_blocks_{}", is_signed ? "signed" : "unsigned", count), {}, {}};
  std::vector<float> values = wide_values(count, 6);
  if (!is_signed)
    for (float& value : values) value = std::abs(value);
  const reference::CodedState after = reference::encode(values, is_signed);
  reference::CodedState before = after;
  std::fill(before.codes.begin(), before.codes.end(), uint8_t{17});
  op.add("in", HostTensor(DType::f32, {count}).fill(doubles_of(values)));
  add_codes(op, "out", before, &after);
  op.call = [is_signed](const Exec& exec, const std::vector<View>& x) {
    ops::encode_blocks(exec, is_signed, x[0], {x[1], x[2]});
  };
  return op;
}

OpCase decode_case(bool is_signed, int64_t count) {
  OpCase op{fmt::format("decode_{}_blocks_{}", is_signed ? "signed" : "unsigned", count), {}, {}};
  const HostTensor codes = HostTensor(DType::u8, {count}).fill_below(7, 256);
  const int64_t blocks = (count + 255) / 256;
  const HostTensor scales = HostTensor(DType::f32, {blocks}).fill_normal(8);
  reference::CodedState state{{}, floats_of(scales), is_signed};
  for (double code : codes.values()) state.codes.push_back(static_cast<uint8_t>(code));
  std::vector<double> want;
  for (size_t i = 0; i < state.codes.size(); ++i) want.push_back(state.value(i));
  op.add("codes", codes);
  op.add("scales", scales);
  op.add("out", HostTensor(DType::f32, {count})).expect_exactly(want);
  op.call = [is_signed](const Exec& exec, const std::vector<View>& x) {
    ops::decode_blocks(exec, is_signed, {x[0], x[1]}, x[2]);
  };
  return op;
}

OpCase sgd_case(const Storage& storage, int64_t count) {
  OpCase op{fmt::format("sgd_{}_{}", storage.name, count), {}, {}};
  const Sgd settings{.learning_rate = 0.01f, .weight_decay = 0.1f, .gradient_scale = 0.5f};
  const HostTensor gradient = HostTensor(storage.gradient, {count}).fill_normal(1);
  const HostTensor master = HostTensor(DType::f32, {count}).fill_normal(2);
  HostTensor weight(storage.weight, {count});
  weight.fill(master.values());
  reference::Bounded<double> want(count);
  for (int64_t i = 0; i < count; ++i) {
    const double before = storage.master ? master.at(i) : weight.at(i);
    const double scaled = gradient.at(i) * settings.gradient_scale;
    want.add(i, before - settings.learning_rate * (scaled + settings.weight_decay * before),
             std::abs(before) + settings.learning_rate * std::abs(scaled));
  }
  op.add("gradient", gradient);
  op.add("weight", weight).expect(want, 1);
  if (storage.master) op.add("master", master).expect(want, 1);
  op.call = [settings, has_master = storage.master](const Exec& exec, const std::vector<View>& x) {
    ops::sgd(exec, settings, x[0], x[1], has_master ? x[2] : View());
  };
  return op;
}

}  // namespace

std::vector<OpCase> optimizer_cases() {
  constexpr DType f32 = DType::f32, bf16 = DType::bf16;
  std::vector<OpCase> cases;
  for (const int64_t count : {0, 1, 255, 257, 16641}) {
    for (const Storage& storage : {Storage{"f32", f32, f32, f32, f32, false},
                                   {"mixed", bf16, bf16, f32, f32, true},
                                   {"pure_bf16", bf16, bf16, f32, f32, false}}) {
      cases.push_back(adamw_8bit_case(storage, count));
      cases.push_back(sgd_case(storage, count));
    }
    for (const bool is_signed : {false, true}) {
      cases.push_back(encode_case(is_signed, count));
      cases.push_back(decode_case(is_signed, count));
    }
  }
  for (const Storage& storage : {Storage{"f32", f32, f32, f32, f32, false},
                                 {"mixed", bf16, bf16, f32, f32, true},
                                 {"mixed_f32_gradient", f32, bf16, f32, f32, true},
                                 {"pure_bf16", bf16, bf16, bf16, bf16, false},
                                 {"bf16_weight", f32, bf16, f32, f32, false}})
    for (const int64_t count : {0, 1, 17, 16385}) cases.push_back(adamw_case(storage, count));
  return cases;
}

}  // namespace cairn::test
