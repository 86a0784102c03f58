// The loss, with and without its gradient, and the sum of squares.
#include "ops/cross_entropy.h"
#include "ops/sum_of_squares.h"
#include "parity/op_case.h"
#include "reference/cross_entropy.h"

namespace cairn::test {
namespace {

OpCase cross_entropy_case(bool gradient, int64_t rows, int64_t vocab, double spread) {
  OpCase op{fmt::format("cross_entropy{}_{}x{}_spread{}", gradient ? "_gradient" : "", rows, vocab,
                        static_cast<int>(spread)),
            {},
            {}};
  constexpr float kScale = 0.125f;
  const HostTensor labels = HostTensor(DType::i32, {rows}).fill_below(1, vocab);
  const HostTensor logits = HostTensor(DType::f32, {rows, vocab}).fill_normal(2, spread);
  const auto want = reference::cross_entropy(logits.values(), labels.values(), kScale);
  op.add("labels", labels);
  Operand& inout = op.add("logits", logits);
  if (gradient) inout.expect(want.d_logits, vocab);
  op.add("row_loss", HostTensor(DType::f32, {rows})).expect(want.row_loss, vocab);
  op.call = [gradient](const Exec& exec, const std::vector<View>& v) {
    ops::cross_entropy(exec, v[0], kScale, gradient, v[1], v[2]);
  };
  return op;
}

OpCase sum_of_squares_case(DType dtype, int64_t count) {
  OpCase op{fmt::format("sum_of_squares_{}_{}", name_of(dtype), count), {}, {}};
  const HostTensor in = HostTensor(dtype, {count}).fill_normal(1);
  double sum = 0;
  for (const double value : in.values()) sum += value * value;
  op.add("in", in);
  Operand& result = op.add("out", HostTensor(DType::f64, {1}));
  result.written = true;
  result.want = {sum};
  result.error = {tolerance(DType::f32, count) * sum};
  op.call = [](const Exec& exec, const std::vector<View>& v) {
    ops::sum_of_squares(exec, v[0], v[1]);
  };
  return op;
}

}  // namespace

std::vector<OpCase> loss_cases() {
  std::vector<OpCase> cases;
  for (const bool gradient : {false, true})
    for (const double spread : {1.0, 40.0}) {
      cases.push_back(cross_entropy_case(gradient, 0, 7, spread));
      cases.push_back(cross_entropy_case(gradient, 1, 1, spread));
      cases.push_back(cross_entropy_case(gradient, 5, 33, spread));
      cases.push_back(cross_entropy_case(gradient, 17, 2049, spread));
    }
  for (const DType dtype : {DType::f32, DType::bf16})
    for (const int64_t count : {0, 1, 65, 16385, 100001})
      cases.push_back(sum_of_squares_case(dtype, count));
  return cases;
}

}  // namespace cairn::test
