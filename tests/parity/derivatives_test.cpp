// The references' own backward passes against a complex step in double (Squire and Trapp, 1998):
// the derivative of a function is its imaginary part at x + i h, exact to rounding for a tiny h.
#include <gtest/gtest.h>

#include <complex>
#include <functional>

#include "reference/cross_entropy.h"
#include "reference/geglu.h"
#include "reference/product.h"
#include "reference/rms_norm.h"
#include "reference/rope.h"
#include "reference/swiglu.h"
#include "support/host_tensor.h"
#include "support/tolerance.h"

namespace cairn::test {
namespace {

using Complex = std::complex<double>;
using Reals = std::vector<double>;
using Complexes = std::vector<Complex>;

Reals normal_values(uint64_t stream, int64_t count) {
  return HostTensor(DType::f64, {count}).fill_normal(stream).values();
}

Complexes widened(const Reals& x) { return {x.begin(), x.end()}; }

// sum of weights * results: one number whose derivative is the backward pass of `weights`.
Complex weighed(const Reals& weights, const Complexes& results) {
  Complex sum = 0;
  for (size_t i = 0; i < weights.size(); ++i) sum += weights[i] * results[i];
  return sum;
}

// `loss` of x; `gradient` is what the backward pass says of it.
void expect_derivative(const Reals& x, const reference::Bounded<double>& gradient,
                       const std::function<Complex(const Complexes&)>& loss) {
  constexpr double kStep = 1e-100;
  ASSERT_EQ(x.size(), gradient.value.size());
  for (size_t i = 0; i < x.size(); ++i) {
    Complexes moved = widened(x);
    moved[i] += Complex(0, kStep);
    const double derivative = loss(moved).imag() / kStep;
    const auto terms = static_cast<int64_t>(100 * x.size());
    EXPECT_NEAR(gradient.value[i], derivative,
                tolerance(DType::f64, terms) * (gradient.magnitude[i] + std::abs(derivative)))
        << "at element " << i;
  }
}

TEST(ReferenceDerivatives, rms_norm_matches_a_complex_step) {
  constexpr int64_t kRows = 3, kHidden = 7;
  constexpr double kEpsilon = 1e-3;
  const Reals x = normal_values(1, kRows * kHidden), weight = normal_values(2, kHidden);
  const Reals d_y = normal_values(3, kRows * kHidden);
  const Reals rstd = reference::rms_norm_forward(x, weight, kEpsilon).rstd.value;
  const auto gradients = reference::rms_norm_backward(d_y, x, weight, rstd);
  expect_derivative(x, gradients.d_x, [&](const Complexes& at) {
    return weighed(d_y, reference::rms_norm_forward(at, widened(weight), kEpsilon).y.value);
  });
  expect_derivative(weight, gradients.d_weight, [&](const Complexes& at) {
    return weighed(d_y, reference::rms_norm_forward(widened(x), at, kEpsilon).y.value);
  });
}

TEST(ReferenceDerivatives, rope_turned_back_is_its_own_backward) {
  constexpr int64_t kHeads = 2, kHeadDim = 6;
  const Reals positions{0, 3, 1}, table = [] {
    Reals list;
    for (int i = 0; i < 12; ++i) list.insert(list.end(), {std::cos(0.7 * i), std::sin(0.7 * i)});
    return list;
  }();
  const Reals x = normal_values(1, 3 * kHeads * kHeadDim);
  const Reals d_y = normal_values(2, 3 * kHeads * kHeadDim);
  expect_derivative(
      x, reference::rope(d_y, positions, table, kHeads, kHeadDim, true), [&](const Complexes& at) {
        return weighed(d_y, reference::rope(at, positions, table, kHeads, kHeadDim, false).value);
      });
}

TEST(ReferenceDerivatives, swiglu_matches_a_complex_step) {
  const Reals gate = normal_values(1, 11), up = normal_values(2, 11), d_out = normal_values(3, 11);
  const auto gradients = reference::swiglu_backward(d_out, gate, up);
  expect_derivative(gate, gradients.d_gate, [&](const Complexes& at) {
    return weighed(d_out, reference::swiglu_forward(at, widened(up)).value);
  });
  expect_derivative(up, gradients.d_up, [&](const Complexes& at) {
    return weighed(d_out, reference::swiglu_forward(widened(gate), at).value);
  });
}

TEST(ReferenceDerivatives, geglu_matches_a_complex_step) {
  const Reals gate = normal_values(1, 11), up = normal_values(2, 11), d_out = normal_values(3, 11);
  const auto gradients = reference::geglu_backward(d_out, gate, up);
  expect_derivative(gate, gradients.d_gate, [&](const Complexes& at) {
    return weighed(d_out, reference::geglu_forward(at, widened(up)).value);
  });
  expect_derivative(up, gradients.d_up, [&](const Complexes& at) {
    return weighed(d_out, reference::geglu_forward(widened(gate), at).value);
  });
}

TEST(ReferenceDerivatives, a_norm_with_an_offset_matches_a_complex_step) {
  constexpr double kEpsilon = 1e-3, kOffset = 1;
  const Reals x = normal_values(1, 21), weight = normal_values(2, 7), d_y = normal_values(3, 21);
  const Reals rstd = reference::rms_norm_forward(x, weight, kEpsilon, kOffset).rstd.value;
  const auto gradients = reference::rms_norm_backward(d_y, x, weight, rstd, kOffset);
  expect_derivative(x, gradients.d_x, [&](const Complexes& at) {
    return weighed(d_y,
                   reference::rms_norm_forward(at, widened(weight), kEpsilon, kOffset).y.value);
  });
  expect_derivative(weight, gradients.d_weight, [&](const Complexes& at) {
    return weighed(d_y, reference::rms_norm_forward(widened(x), at, kEpsilon, kOffset).y.value);
  });
}

TEST(ReferenceDerivatives, cross_entropy_behind_a_softcap_matches_a_complex_step) {
  const Reals labels{4, 0, 2}, raw = normal_values(1, 3 * 5);
  constexpr double kScale = 0.25, kCap = 2;
  const Reals every_row(3, kScale);
  const auto gradient =
      reference::cross_entropy(reference::softcap(raw, kCap), labels, kScale, kCap).d_logits;
  expect_derivative(raw, gradient, [&](const Complexes& at) {
    return weighed(
        every_row,
        reference::cross_entropy(reference::softcap(at, kCap), labels, kScale).row_loss.value);
  });
}

TEST(ReferenceDerivatives, cross_entropy_matches_a_complex_step) {
  const Reals labels{4, 0, 2}, logits = normal_values(1, 3 * 5);
  constexpr double kScale = 0.25;
  const Reals every_row(3, kScale);
  expect_derivative(
      logits, reference::cross_entropy(logits, labels, kScale).d_logits, [&](const Complexes& at) {
        return weighed(every_row, reference::cross_entropy(at, labels, kScale).row_loss.value);
      });
}

TEST(ReferenceDerivatives, product_is_differentiated_by_products) {
  constexpr int64_t kM = 3, kN = 4, kK = 5;
  const Reals a = normal_values(1, kM * kK), b = normal_values(2, kN * kK);
  const Reals d_c = normal_values(3, kM * kN);
  // c = a * b^T, so d_a = d_c * b and d_b = d_c^T * a.
  expect_derivative(
      a, reference::product(d_c, false, b, false, kM, kK, kN), [&](const Complexes& at) {
        return weighed(d_c, reference::product(at, false, widened(b), true, kM, kN, kK).value);
      });
  expect_derivative(
      b, reference::product(d_c, true, a, false, kN, kK, kM), [&](const Complexes& at) {
        return weighed(d_c, reference::product(widened(a), false, at, true, kM, kN, kK).value);
      });
}

}  // namespace
}  // namespace cairn::test
