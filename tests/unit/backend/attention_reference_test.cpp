// The reference itself: published vectors, and derivatives by a complex step.
#include <gtest/gtest.h>

#include "base/random.h"
#include "reference/attention.h"
#include "support/tolerance.h"

namespace cairn::reference {
namespace {

// Digits to which the vectors are printed.
constexpr double kPrinted = 5e-8;

void expect_vector(const std::vector<double>& got, const std::vector<double>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 2 * kPrinted) << i;
}

// Worked by hand in float64 from Dao (FlashAttention-2, 2023), algorithms 1 and 2: three causal
// tokens.
TEST(AttentionReference, three_tokens_worked_by_hand) {
  const AttentionSizes sizes{1, 1, 2, {0, 3}, {0, 3}, 1 / std::sqrt(2.0)};
  const std::vector<double> q = {1, .5, -.5, 2, .25, -1}, k = {.5, 1, 1.5, -.5, -1, .75},
                            v = {1, 2, -1, .5, .5, -2}, d_out = {1, -1, .5, .25, -.75, 1};
  const auto forward = attention_forward(sizes, q, k, v);
  expect_vector(forward.out.value, {1, 2, .844723, 1.8835422, -.3709438, .3529489});
  expect_vector(forward.log_sum_exp.value, {.7071068, 1.3182549, 1.0606509});
  const auto g = attention_backward(sizes, q, k, v, forward.out.value, d_out);
  expect_vector(g.delta.value, {-1, .8932471, .6311568});
  expect_vector(g.d_q.value, {0, 0, -.0696251, .1044377, .8256065, -.3311967});
  expect_vector(g.d_k.value, {-.0144109, .0576438, .1051322, -.4205289, -.0907213, .3628852});
  expect_vector(g.d_v.value, {1.3213121, -.5829181, -.4432756, .6622027, -.1280365, .1707154});
}

// The same tokens with scores capped at 2, and with a window of two keys.
TEST(AttentionReference, capped_and_windowed_tokens_worked_by_hand) {
  AttentionSizes sizes{1, 1, 2, {0, 3}, {0, 3}, 1 / std::sqrt(2.0), 2};
  const std::vector<double> q = {1, .5, -.5, 2, .25, -1}, k = {.5, 1, 1.5, -.5, -1, .75},
                            v = {1, 2, -1, .5, .5, -2}, d_out = {1, -1, .5, .25, -.75, 1};
  const auto part = [](const std::vector<double>& values, int64_t begin) {
    return std::vector<double>(values.begin() + begin, values.begin() + begin + 2);
  };
  const auto capped = attention_forward(sizes, q, k, v);
  expect_vector(part(capped.out.value, 4), {-.3541298, .345606});
  expect_vector(capped.log_sum_exp.value, {.6790462, 1.2054598, 1.0569772});
  const auto g = attention_backward(sizes, q, k, v, capped.out.value, d_out);
  expect_vector(part(g.d_q.value, 4), {.7587472, -.2985915});
  expect_vector(part(g.d_k.value, 0), {-.0108096, .0432385});
  expect_vector(part(g.d_v.value, 0), {1.3070893, -.5841462});
  sizes.softcap = 0;
  sizes.window = 2;
  const auto windowed = attention_forward(sizes, q, k, v);
  expect_vector(part(windowed.out.value, 4), {-.6852239, -.0246269});
  EXPECT_NEAR(windowed.log_sum_exp.value[2], .8542519, 2 * kPrinted);
}

// The loss is the sum of d_out * out; a complex step of 1e-30 has no cancellation.
void expect_derivatives(const AttentionSizes& sizes) {
  using Complex = std::complex<double>;
  const auto random = [&](int64_t count, uint64_t stream) {
    std::vector<double> values;
    for (int64_t i = 0; i < count; ++i)
      values.push_back(Random(5, stream).normal(static_cast<uint64_t>(i)));
    return values;
  };
  const int64_t queries = sizes.tokens() * sizes.heads * sizes.head_dim;
  const int64_t keys = sizes.kv_tokens() * sizes.kv_heads * sizes.head_dim;
  std::vector<double> inputs[3] = {random(queries, 0), random(keys, 1), random(keys, 2)};
  const auto d_out = random(queries, 3);
  const auto out = attention_forward(sizes, inputs[0], inputs[1], inputs[2]).out.value;
  const auto g = attention_backward(sizes, inputs[0], inputs[1], inputs[2], out, d_out);
  const std::vector<double>* gradients[3] = {&g.d_q.value, &g.d_k.value, &g.d_v.value};
  const double step = 1e-30, half_the_digits = std::sqrt(test::unit_roundoff(DType::f64));
  for (int input = 0; input < 3; ++input)
    for (size_t i = 0; i < inputs[input].size(); ++i) {
      std::vector<Complex> moved[3];
      for (int j = 0; j < 3; ++j) moved[j].assign(inputs[j].begin(), inputs[j].end());
      moved[input][i] += Complex(0, step);
      const auto result = attention_forward(sizes, moved[0], moved[1], moved[2]).out.value;
      double slope = 0;
      for (size_t j = 0; j < d_out.size(); ++j) slope += d_out[j] * result[j].imag() / step;
      EXPECT_NEAR((*gradients[input])[i], slope, half_the_digits)
          << "input " << input << " at " << i;
    }
}

TEST(AttentionReference, gradients_are_derivatives) {
  const AttentionSizes plain{4, 2, 3, {0, 3, 4, 4, 8}, {0, 5, 5, 6, 8}, 0.7};
  AttentionSizes capped = plain, windowed = plain;
  capped.softcap = 1.5;
  windowed.window = 2;
  for (const AttentionSizes& sizes : {plain, capped, windowed}) expect_derivatives(sizes);
}

}  // namespace
}  // namespace cairn::reference
