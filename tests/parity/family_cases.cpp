// What families add to the plain layers: GeGLU, softcaps, norms with an offset, scaled embeddings,
// heads that turn in part, and biases.
#include "ops/cross_entropy.h"
#include "ops/embedding.h"
#include "ops/geglu.h"
#include "ops/gemm.h"
#include "ops/rms_norm.h"
#include "ops/rope.h"
#include "ops/softcap.h"
#include "ops/sum_rows.h"
#include "parity/op_case.h"
#include "reference/cross_entropy.h"
#include "reference/embedding.h"
#include "reference/geglu.h"
#include "reference/product.h"
#include "reference/rms_norm.h"
#include "reference/rope.h"

namespace cairn::test {
namespace {

constexpr Size kSizes[] = {{0, 8}, {1, 1}, {3, 31}, {67, 513}};

OpCase geglu_forward_case(DType gate_dtype, DType up_dtype, DType out_dtype, Size size) {
  OpCase op = named("geglu_forward", {gate_dtype, up_dtype, out_dtype}, size);
  const Shape shape{size.rows, size.columns};
  const HostTensor gate = HostTensor(gate_dtype, shape).fill_normal(1, 2);
  const HostTensor up = HostTensor(up_dtype, shape).fill_normal(2);
  op.add("gate", gate);
  op.add("up", up);
  op.add("out", HostTensor(out_dtype, shape))
      .expect(reference::geglu_forward(gate.values(), up.values()), 1);
  op.call = [](const Exec& exec, const std::vector<View>& v) {
    ops::geglu_forward(exec, v[0], v[1], v[2]);
  };
  return op;
}

// d_up lies over d_out.
OpCase geglu_backward_case(DType gate_dtype, DType up_dtype, Size size) {
  OpCase op = named("geglu_backward", {gate_dtype, up_dtype}, size);
  const Shape shape{size.rows, size.columns};
  const HostTensor gate = HostTensor(gate_dtype, shape).fill_normal(1, 2);
  const HostTensor up = HostTensor(up_dtype, shape).fill_normal(2);
  const HostTensor d_out = HostTensor(DType::f32, shape).fill_normal(3);
  const auto want = reference::geglu_backward(d_out.values(), gate.values(), up.values());
  op.add("gate", gate);
  op.add("up", up);
  op.add("d_out and d_up", d_out).expect(want.d_up, 1);
  op.add("d_gate", HostTensor(DType::f32, shape)).expect(want.d_gate, 1);
  op.call = [](const Exec& exec, const std::vector<View>& v) {
    ops::geglu_backward(exec, v[2], v[0], v[1], v[3], v[2]);
  };
  return op;
}

OpCase softcap_case(DType dtype, Size size) {
  OpCase op = named("softcap", {dtype}, size);
  constexpr float kCap = 30;
  const HostTensor x = HostTensor(dtype, {size.rows, size.columns}).fill_normal(1, 40);
  reference::Bounded<double> want(x.elements());
  const auto capped = reference::softcap(x.values(), kCap);
  for (int64_t i = 0; i < x.elements(); ++i)
    want.add(i, capped[static_cast<size_t>(i)], std::abs(capped[static_cast<size_t>(i)]));
  op.add("inout", x).expect(want, 16);  // a tanh is good to 4 units in the last place
  op.call = [](const Exec& exec, const std::vector<View>& v) { ops::softcap(exec, kCap, v[0]); };
  return op;
}

OpCase capped_cross_entropy_case(bool gradient, int64_t rows, int64_t vocab) {
  OpCase op{fmt::format("cross_entropy_capped{}_{}x{}", gradient ? "_gradient" : "", rows, vocab),
            {},
            {}};
  constexpr float kScale = 0.125f, kCap = 30;
  const HostTensor labels = HostTensor(DType::i32, {rows}).fill_below(1, vocab);
  HostTensor logits = HostTensor(DType::f32, {rows, vocab}).fill_normal(2, 25);
  logits.fill(reference::softcap(logits.values(), kCap));
  const auto want = reference::cross_entropy(logits.values(), labels.values(), kScale, kCap);
  op.add("labels", labels);
  Operand& inout = op.add("logits", logits);
  if (gradient) inout.expect(want.d_logits, vocab);
  op.add("row_loss", HostTensor(DType::f32, {rows})).expect(want.row_loss, vocab);
  op.call = [gradient](const Exec& exec, const std::vector<View>& v) {
    ops::cross_entropy(exec, v[0], kScale, gradient, v[1], v[2], kCap);
  };
  return op;
}

OpCase offset_norm_case(DType x_dtype, DType weight_dtype, Size size) {
  OpCase op = named("rms_norm_offset", {x_dtype, weight_dtype}, size);
  constexpr float kEpsilon = 1e-6f, kOffset = 1;
  const HostTensor x = HostTensor(x_dtype, {size.rows, size.columns}).fill_normal(1);
  const HostTensor weight = HostTensor(weight_dtype, {size.columns}).fill_normal(2, 0.3);
  const auto want = reference::rms_norm_forward(x.values(), weight.values(), kEpsilon, kOffset);
  op.add("x", x);
  op.add("weight", weight);
  op.add("y", HostTensor(x_dtype, x.shape())).expect(want.y, size.columns);
  op.add("rstd", HostTensor(DType::f32, {size.rows})).expect(want.rstd, size.columns);
  op.call = [](const Exec& exec, const std::vector<View>& v) {
    ops::rms_norm_forward(exec, v[0], v[1], kEpsilon, v[2], v[3], kOffset);
  };
  return op;
}

OpCase offset_norm_backward_case(DType x_dtype, DType weight_dtype, Size size) {
  OpCase op = named("rms_norm_offset_backward", {x_dtype, weight_dtype}, size);
  constexpr float kOffset = 1;
  const Shape shape{size.rows, size.columns};
  const HostTensor d_y = HostTensor(DType::f32, shape).fill_normal(1);
  const HostTensor x = HostTensor(x_dtype, shape).fill_normal(2);
  const HostTensor weight = HostTensor(weight_dtype, {size.columns}).fill_normal(3, 0.3);
  HostTensor rstd(DType::f32, {size.rows});
  rstd.fill(reference::rms_norm_forward(x.values(), weight.values(), 1e-6, kOffset).rstd.value);
  const auto want = reference::rms_norm_backward(d_y.values(), x.values(), weight.values(),
                                                 rstd.values(), kOffset);
  op.add("d_y", d_y);
  op.add("x", x);
  op.add("weight", weight);
  op.add("rstd", rstd);
  op.add("d_x", HostTensor(DType::f32, shape).fill_normal(4)).expect(want.d_x, size.columns, true);
  op.add("d_weight", HostTensor(weight_dtype, {size.columns}).fill_normal(5))
      .expect(want.d_weight, size.rows, true);
  op.call = [](const Exec& exec, const std::vector<View>& v) {
    ops::rms_norm_backward(exec, v[0], v[1], v[2], v[3], v[4], v[5], kOffset);
  };
  return op;
}

OpCase scaled_embedding_case(DType dtype, Size size) {
  OpCase op = named("embedding_scaled", {dtype}, size);
  constexpr int64_t kVocab = 13;
  constexpr float kScale = 59.75f;  // a bf16, as Gemma's is
  const HostTensor ids = HostTensor(DType::i32, {size.rows}).fill_below(1, kVocab);
  const HostTensor table = HostTensor(dtype, {kVocab, size.columns}).fill_normal(2);
  HostTensor want(dtype, {size.rows, size.columns});
  want.fill(reference::embedding_forward(ids.values(), table.values(), size.columns, kScale));
  op.add("ids", ids);
  op.add("table", table);
  op.add("out", HostTensor(dtype, want.shape())).expect_exactly(want.values());
  op.call = [](const Exec& exec, const std::vector<View>& v) {
    ops::embedding_forward(exec, v[0], v[1], v[2], kScale);
  };
  return op;
}

OpCase scaled_embedding_backward_case(DType dtype, Size size) {
  OpCase op = named("embedding_scaled_backward", {dtype}, size);
  constexpr int64_t kVocab = 5;  // so that tokens repeat
  constexpr float kScale = 59.75f;
  const HostTensor ids = HostTensor(DType::i32, {size.rows}).fill_below(1, kVocab);
  const HostTensor d_out = HostTensor(DType::f32, {size.rows, size.columns}).fill_normal(2);
  op.add("ids", ids);
  op.add("d_out", d_out);
  op.add("d_table", HostTensor(dtype, {kVocab, size.columns}).fill_normal(3))
      .expect(
          reference::embedding_backward(ids.values(), d_out.values(), kVocab, size.columns, kScale),
          size.rows, true);
  op.call = [](const Exec& exec, const std::vector<View>& v) {
    ops::embedding_backward(exec, v[0], v[1], v[2], kScale);
  };
  return op;
}

OpCase partial_rope_case(DType dtype, bool inverse, int64_t head_dim, int64_t rotary) {
  OpCase op{fmt::format("rope_partial{}_{}_{}of{}", inverse ? "_inverse" : "", name_of(dtype),
                        rotary, head_dim),
            {},
            {}};
  constexpr int64_t kPositions = 29, kTokens = 7, kHeads = 3;
  const HostTensor positions = HostTensor(DType::i32, {kTokens}).fill_below(1, kPositions);
  HostTensor table(DType::f32, {kPositions, rotary / 2, 2});
  for (int64_t i = 0; i < table.elements() / 2; ++i) {
    const double angle = 0.37 * static_cast<double>(i);
    table.set(2 * i, 1.25 * std::cos(angle));  // scaled, as YaRN does
    table.set(2 * i + 1, 1.25 * std::sin(angle));
  }
  const HostTensor x = HostTensor(dtype, {kTokens, kHeads, head_dim}).fill_normal(2);
  op.add("positions", positions);
  op.add("table", table);
  op.add("inout", x)
      .expect(reference::rope(x.values(), positions.values(), table.values(), kHeads, head_dim,
                              inverse, rotary),
              2);
  op.call = [inverse](const Exec& exec, const std::vector<View>& v) {
    ops::rope(exec, v[0], v[1], inverse, v[2]);
  };
  return op;
}

OpCase sum_rows_case(DType dtype, Size size) {
  OpCase op = named("sum_rows", {dtype}, size);
  const HostTensor in = HostTensor(DType::f32, {size.rows, size.columns}).fill_normal(1);
  reference::Bounded<double> sum(size.columns);
  for (int64_t i = 0; i < in.elements(); ++i)
    sum.add(i % size.columns, in.at(i), std::abs(in.at(i)));
  op.add("in", in);
  op.add("out", HostTensor(dtype, {size.columns}).fill_normal(2)).expect(sum, size.rows, true);
  op.call = [](const Exec& exec, const std::vector<View>& v) { ops::sum_rows(exec, v[0], v[1]); };
  return op;
}

// c = a * b^T + bias.
OpCase bias_case(DType a_dtype, DType bias_dtype, DType c_dtype, int64_t m, int64_t n, int64_t k) {
  OpCase op{fmt::format("gemm_bias_{}_{}_{}_{}x{}x{}", name_of(a_dtype), name_of(bias_dtype),
                        name_of(c_dtype), m, n, k),
            {},
            {}};
  const HostTensor a = HostTensor(a_dtype, {m, k}).fill_normal(1);
  const HostTensor b = HostTensor(DType::bf16, {n, k}).fill_normal(2);
  const HostTensor bias = HostTensor(bias_dtype, {n}).fill_normal(3);
  auto want = reference::product(a.values(), false, b.values(), true, m, n, k);
  for (int64_t i = 0; i < m * n; ++i) want.add(i, bias.at(i % n), std::abs(bias.at(i % n)));
  op.add("a", a);
  op.add("b", b);
  op.add("bias", bias);
  op.add("c", HostTensor(c_dtype, {m, n})).expect(want, k);
  op.call = [](const Exec& exec, const std::vector<View>& v) {
    ops::gemm(exec, {.a = v[0], .b = v[1], .c = v[3], .transpose_b = true, .bias = v[2]});
  };
  return op;
}

}  // namespace

std::vector<OpCase> family_cases() {
  std::vector<OpCase> cases;
  for (const Size size : kSizes) {
    for (const DType a : kFloats) {
      cases.push_back(scaled_embedding_backward_case(a, size));
      cases.push_back(softcap_case(a, size));
      cases.push_back(sum_rows_case(a, size));
      cases.push_back(scaled_embedding_case(a, size));
      for (const DType b : kFloats) {
        cases.push_back(geglu_backward_case(a, b, size));
        cases.push_back(offset_norm_case(a, b, size));
        cases.push_back(offset_norm_backward_case(a, b, size));
        for (const DType c : kFloats) cases.push_back(geglu_forward_case(a, b, c, size));
      }
    }
  }
  for (const bool gradient : {false, true})
    for (const auto& [rows, vocab] : {std::pair{0, 7}, {1, 1}, {5, 33}, {17, 2049}})
      cases.push_back(capped_cross_entropy_case(gradient, rows, vocab));
  for (const DType dtype : kFloats)
    for (const bool inverse : {false, true})
      for (const auto& [head_dim, rotary] : {std::pair{8, 2}, {34, 12}, {128, 96}})
        cases.push_back(partial_rope_case(dtype, inverse, head_dim, rotary));
  for (const DType a : kFloats)
    for (const DType bias : kFloats)
      for (const DType c : kFloats) {
        cases.push_back(bias_case(a, bias, c, 1, 1, 1));
        cases.push_back(bias_case(a, bias, c, 7, 49, 33));
        cases.push_back(bias_case(a, bias, c, 65, 13, 385));  // computed transposed
        cases.push_back(bias_case(a, bias, c, 65, 100, 385));
      }
  return cases;
}

}  // namespace cairn::test
