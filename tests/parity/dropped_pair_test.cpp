// A product with a low-rank pair whose input is dropped, forward and backward, against a reference
// and its complex-step derivative; over more rows than one piece holds.
#include <gtest/gtest.h>

#include <complex>
#include <functional>

#include "model/layers/linear.h"
#include "ops/moving.h"
#include "reference/dropout.h"
#include "reference/product.h"
#include "support/op_run.h"
#include "support/runners.h"
#include "support/tolerance.h"

namespace cairn::test {
namespace {

constexpr int64_t kRows = 530, kIn = 5, kRank = 2, kOut = 3;
constexpr float kScale = 2;
constexpr reference::DropoutKey kKey{0.25f, 1234567891234u, 42};

template <typename T>
struct Operands {
  std::vector<T> x, weight, a, b, residual;
};

// y = residual + x W^T + s / (1 - rate) dropped(x) A^T B^T.
template <typename T>
std::vector<T> reference_forward(const Operands<T>& o, const std::vector<double>& samples,
                                 const std::vector<double>& positions) {
  const auto dropped = reference::dropout(kKey, samples, positions, o.x, kIn);
  const auto low = reference::product(dropped, false, o.a, true, kRows, kRank, kIn).value;
  const auto pair = reference::product(low, false, o.b, true, kRows, kOut, kRank).value;
  std::vector<T> y = reference::product(o.x, false, o.weight, true, kRows, kOut, kIn).value;
  const double scale = kScale / (1 - static_cast<double>(kKey.rate));
  for (size_t i = 0; i < y.size(); ++i) y[i] += o.residual[i] + scale * pair[i];
  return y;
}

// A function's value and derivative; `sizes` is the same over absolute values, and bounds rounding.
struct Wanted {
  std::vector<double> value, sizes;
  void expect(const char* name, const HostTensor& got, int64_t terms) const {
    for (int64_t i = 0; i < got.elements(); ++i) {
      const auto at = static_cast<size_t>(i);
      ASSERT_NEAR(got.at(i), value[at], tolerance(got.dtype(), terms) * sizes[at])
          << name << " at " << i;
    }
  }
};

class DroppedPair : public ::testing::Test {
 protected:
  DroppedPair() {
    // Samples of 100 rows, numbered from the last, so that neither key is the row.
    for (int64_t i = 0; i < kRows; ++i) {
      samples_.set(i, static_cast<double>(9 - i / 100));
      positions_.set(i, static_cast<double>(i % 100));
    }
  }

  Operands<double> operands(bool absolute) const {
    const auto read = [&](const HostTensor& tensor) {
      std::vector<double> values = tensor.values();
      if (absolute)
        for (double& value : values) value = std::abs(value);
      return values;
    };
    return {read(x_), read(weight_), read(a_), read(b_), read(residual_)};
  }

  Wanted forward() const {
    const auto run = [&](bool absolute) {
      return reference_forward(operands(absolute), samples_.values(), positions_.values());
    };
    return {run(false), run(true)};
  }

  // The derivative of sum(d_y * y) by the member of the operands.
  Wanted derivative(
      std::vector<std::complex<double>> Operands<std::complex<double>>::*member) const {
    using Complex = std::complex<double>;
    constexpr double kStep = 1e-100;
    const auto run = [&](bool absolute) {
      const Operands<double> real = operands(absolute);
      const auto widened = [](const std::vector<double>& v) {
        return std::vector<Complex>(v.begin(), v.end());
      };
      Operands<Complex> at{widened(real.x), widened(real.weight), widened(real.a), widened(real.b),
                           widened(real.residual)};
      std::vector<double> slopes;
      for (Complex& element : at.*member) {
        element += Complex(0, kStep);
        const auto y = reference_forward(at, samples_.values(), positions_.values());
        double slope = 0;
        for (int64_t i = 0; i < kRows * kOut; ++i) {
          const double weight = absolute ? std::abs(d_y_.at(i)) : d_y_.at(i);
          slope += weight * y[static_cast<size_t>(i)].imag() / kStep;
        }
        element -= Complex(0, kStep);
        slopes.push_back(slope);
      }
      return slopes;
    };
    return {run(false), run(true)};
  }

  void run(Backend& backend) {
    run_op(backend,
           {&x_, &weight_, &a_, &b_, &residual_, &d_y_, &samples_, &positions_, &y_, &d_x_, &d_a_,
            &d_b_},
           [](const Exec& exec, const std::vector<View>& v) {
             Parameter weight = parameter_of(exec, v[1]), a = parameter_of(exec, v[2]),
                       b = parameter_of(exec, v[3]);
             weight.trainable = false;
             Linear linear;
             linear.weight = &weight;
             linear.lora_a = &a;
             linear.lora_b = &b;
             linear.lora_scale = kScale;
             linear.dropout = kKey.rate;
             linear.dropout_stream = kKey.stream;
             Pass pass{.exec = exec,
                       .capacity = {.tokens = kRows + 9},
                       .extent = {.tokens = kRows},
                       .ids = {},
                       .positions = v[7],
                       .cu_segments = {},
                       .labelled_rows = {},
                       .labels = {},
                       .rope_table = {},
                       .samples = v[6],
                       .dropout_seed = kKey.seed};
             linear.forward(pass, v[0], v[8], v[4]);
             linear.backward_input(pass, v[5], v[9], false);
             linear.backward_parameters(pass, v[5], v[0]);
             ops::convert(exec, a.gradient.view(), v[10]);
             ops::convert(exec, b.gradient.view(), v[11]);
           });
  }

  static Parameter parameter_of(const Exec& exec, View value) {
    Parameter parameter;
    parameter.shape = value.shape();
    parameter.trainable = true;
    parameter.memory.value = exec.make(Account::weights, "weight", DType::f32, value.shape());
    parameter.value = parameter.memory.value.view();
    parameter.gradient = exec.make(Account::gradients, "gradient", DType::f32, value.shape());
    ops::convert(exec, value, parameter.value);
    ops::fill_zero(exec, parameter.gradient.view());
    return parameter;
  }

  static HostTensor normal(Shape shape, uint64_t stream) {
    return HostTensor(DType::f32, shape).fill_normal(stream);
  }

  HostTensor x_ = normal({kRows, kIn}, 1), weight_ = normal({kOut, kIn}, 2);
  HostTensor a_ = normal({kRank, kIn}, 3), b_ = normal({kOut, kRank}, 4);
  HostTensor residual_ = normal({kRows, kOut}, 5), d_y_ = normal({kRows, kOut}, 6);
  HostTensor samples_{DType::i32, {kRows}}, positions_{DType::i32, {kRows}};
  HostTensor y_{DType::f32, {kRows, kOut}}, d_x_{DType::f32, {kRows, kIn}};
  HostTensor d_a_{DType::f32, {kRank, kIn}}, d_b_{DType::f32, {kOut, kRank}};
};

TEST_F(DroppedPair, output_and_gradients_match_a_reference_and_its_complex_step) {
  using Complexes = Operands<std::complex<double>>;
  const Wanted y = forward(), d_a = derivative(&Complexes::a), d_b = derivative(&Complexes::b);
  const Wanted d_x = derivative(&Complexes::x);
  for (const auto& group : built_runners())
    for (const Runner& runner : group) {
      SCOPED_TRACE("on " + runner.name());
      RunnerScope scope(runner);
      run(scope.backend());
      y.expect("y", y_, kIn * kRank);
      d_x.expect("d_x", d_x_, kOut * kRank);
      d_a.expect("d_a", d_a_, kRows * kOut);
      d_b.expect("d_b", d_b_, kRows * kIn);
    }
}

}  // namespace
}  // namespace cairn::test
