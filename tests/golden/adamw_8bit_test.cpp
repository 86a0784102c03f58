// The dynamic maps against bitsandbytes', and steps of 8-bit AdamW against NumPy's in the order of
// bitsandbytes' CUDA kernel.
#include <gtest/gtest.h>

#include <cmath>

#include "golden/golden_files.h"
#include "numeric/dynamic_map.h"
#include "ops/adamw.h"
#include "support/op_run.h"
#include "support/runners.h"
#include "support/tolerance.h"

namespace cairn::test {
namespace {

class Golden {
 public:
  // A tensor as the host holds it; its values are f32 or u8.
  HostTensor tensor(const std::string& name) const {
    const TensorInfo& info = file_.require(name);
    HostTensor tensor(info.type == FileType::u8 ? DType::u8 : DType::f32, info.shape);
    file_.read_bytes(info, 0, tensor.bytes());
    return tensor;
  }

 private:
  SafetensorsFile file_{golden_path("adamw_8bit.safetensors")};
};

// torch.linspace rounds by the width of its vectors: values differ in their last places.
constexpr int64_t kMapRoundings = 4;

// `beside` [n]: magnitudes that rounding errors of the values come from, or none.
void expect_near(const HostTensor& got, const HostTensor& wanted, int64_t roundings,
                 const std::string& what, const std::vector<double>& beside = {}) {
  ASSERT_EQ(got.elements(), wanted.elements());
  for (int64_t i = 0; i < got.elements(); ++i) {
    const double more = beside.empty() ? 0 : beside[static_cast<size_t>(i)];
    ASSERT_NEAR(got.at(i), wanted.at(i),
                tolerance(DType::f32, roundings) * (std::abs(wanted.at(i)) + more))
        << what << " at " << i;
  }
}

TEST(GoldenDynamicMap, equals_that_of_bitsandbytes) {
  const Golden golden;
  for (const bool is_signed : {false, true}) {
    const DynamicMap& map = is_signed ? signed_dynamic_map() : unsigned_dynamic_map();
    HostTensor got(DType::f32, {256});
    got.fill({map.begin(), map.end()});
    expect_near(got, golden.tensor(is_signed ? "map.signed" : "map.unsigned"), kMapRoundings,
                "map");
  }
}

TEST(GoldenAdamW8Bit, steps_have_the_codes_scales_and_weights_of_the_reference) {
  const Golden golden;
  const nlohmann::json facts = read_json(golden_path("adamw_8bit.json"));
  HostTensor weight = golden.tensor("weight.0");
  const int64_t count = weight.elements(), blocks = (count + kCodedBlock - 1) / kCodedBlock;
  HostTensor m(DType::u8, {count}), v(DType::u8, {count});
  HostTensor m_scales(DType::f32, {blocks}), v_scales(DType::f32, {blocks});
  // A weight may have come a long way to a value near 0.
  HostTensor before = weight;
  std::vector<double> travelled(static_cast<size_t>(count));
  RunnerScope scope(built_runners().front().front());
  for (int t = 1; t <= facts["steps"].get<int>(); ++t) {
    AdamW now;
    now.learning_rate = facts["learning_rate"];
    now.beta1 = facts["beta1"];
    now.beta2 = facts["beta2"];
    now.epsilon = facts["epsilon"];
    now.weight_decay = facts["weight_decay"];
    now.bias_correction1 = static_cast<float>(1 - std::pow(facts["beta1"].get<double>(), t));
    now.bias_correction2 = static_cast<float>(1 - std::pow(facts["beta2"].get<double>(), t));
    const std::string step = "." + std::to_string(t);
    HostTensor gradient = golden.tensor("gradient" + step);
    run_op(scope.backend(), {&gradient, &weight, &m, &m_scales, &v, &v_scales},
           [&](const Exec& exec, const std::vector<View>& x) {
             ops::adamw_8bit(exec, now, x[0], x[1], View(), {x[2], x[3]}, {x[4], x[5]});
           });
    EXPECT_EQ(m.bytes(), golden.tensor("m.codes" + step).bytes()) << "step " << t;
    EXPECT_EQ(v.bytes(), golden.tensor("v.codes" + step).bytes()) << "step " << t;
    expect_near(m_scales, golden.tensor("m.scales" + step), kMapRoundings * t, "m.scales" + step);
    expect_near(v_scales, golden.tensor("v.scales" + step), kMapRoundings * t, "v.scales" + step);
    const HostTensor wanted = golden.tensor("weight" + step);
    for (int64_t i = 0; i < count; ++i)
      travelled[static_cast<size_t>(i)] += std::abs(wanted.at(i) - before.at(i));
    before = wanted;
    expect_near(weight, wanted, kMapRoundings * t, "weight" + step, travelled);
  }
}

// A block of four, worked out in double precision on the published maps.
TEST(GoldenAdamW8Bit, two_steps_of_a_short_block_are_as_worked_out_by_hand) {
  HostTensor gradient(DType::f32, {4}), weight(DType::f32, {4});
  gradient.fill({0.1, -0.2, 0.003, 1e-6});
  weight.fill({1, -0.5, 0.25, 2});
  HostTensor m(DType::u8, {4}), v(DType::u8, {4}), m_scale(DType::f32, {1}), v_scale = m_scale;
  const std::vector<std::vector<double>> weights = {
      {0.99899001, -0.49899501, 0.248997513, 1.998989911},
      {0.99798046, -0.49799336, 0.248036203, 1.997806919}};
  const std::vector<double> m_scales = {0.02, 0.037873437}, v_scales = {4e-5, 7.996e-5};
  // 1 - beta2 is taken in f32, whose rounding of beta2 the small difference keeps.
  const std::vector<double> largest_square = {0.2 * 0.2};
  RunnerScope scope(built_runners().front().front());
  for (int t = 1; t <= 2; ++t) {
    AdamW now{.learning_rate = 1e-3f, .weight_decay = 0.01f};
    now.bias_correction1 = static_cast<float>(1 - std::pow(0.9, t));
    now.bias_correction2 = static_cast<float>(1 - std::pow(0.999, t));
    run_op(scope.backend(), {&gradient, &weight, &m, &m_scale, &v, &v_scale},
           [&](const Exec& exec, const std::vector<View>& x) {
             ops::adamw_8bit(exec, now, x[0], x[1], View(), {x[2], x[3]}, {x[4], x[5]});
           });
    const auto step = static_cast<size_t>(t - 1);
    EXPECT_EQ(m.values(), (std::vector<double>{219, 0, 160, 129}));
    EXPECT_EQ(v.values(), (std::vector<double>{148, 255, 17, 0}));
    expect_near(m_scale, HostTensor(DType::f32, {1}).fill({m_scales[step]}), t, "scale of m");
    expect_near(v_scale, HostTensor(DType::f32, {1}).fill({v_scales[step]}), t, "scale of v",
                largest_square);
    expect_near(weight, HostTensor(DType::f32, {4}).fill(weights[step]), t, "weight");
  }
}

}  // namespace
}  // namespace cairn::test
