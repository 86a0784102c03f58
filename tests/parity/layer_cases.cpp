// Layers without a product: embedding, RMS norm, rotary embedding and SwiGLU, forward and backward.
#include "ops/embedding.h"
#include "ops/rms_norm.h"
#include "ops/rope.h"
#include "ops/swiglu.h"
#include "parity/op_case.h"
#include "reference/embedding.h"
#include "reference/rms_norm.h"
#include "reference/rope.h"
#include "reference/swiglu.h"

namespace cairn::test {
namespace {

constexpr Size kSizes[] = {{0, 8}, {1, 1}, {3, 31}, {2, 1025}, {67, 513}};

OpCase embedding_forward_case(DType table_dtype, DType out_dtype, Size size) {
  OpCase op = named("embedding_forward", {table_dtype, out_dtype}, size);
  constexpr int64_t kVocab = 13;
  const HostTensor ids = HostTensor(DType::i32, {size.rows}).fill_below(1, kVocab);
  const HostTensor table = HostTensor(table_dtype, {kVocab, size.columns}).fill_normal(2);
  HostTensor want(out_dtype, {size.rows, size.columns});
  want.fill(reference::embedding_forward(ids.values(), table.values(), size.columns));
  op.add("ids", ids);
  op.add("table", table);
  op.add("out", HostTensor(out_dtype, want.shape())).expect_exactly(want.values());
  op.call = [](const Exec& exec, const std::vector<View>& v) {
    ops::embedding_forward(exec, v[0], v[1], v[2]);
  };
  return op;
}

OpCase embedding_backward_case(DType dtype, Size size) {
  OpCase op = named("embedding_backward", {dtype}, size);
  constexpr int64_t kVocab = 5;  // so that tokens repeat
  const HostTensor ids = HostTensor(DType::i32, {size.rows}).fill_below(1, kVocab);
  const HostTensor d_out = HostTensor(DType::f32, {size.rows, size.columns}).fill_normal(2);
  op.add("ids", ids);
  op.add("d_out", d_out);
  op.add("d_table", HostTensor(dtype, {kVocab, size.columns}).fill_normal(3))
      .expect(reference::embedding_backward(ids.values(), d_out.values(), kVocab, size.columns),
              size.rows, true);
  op.call = [](const Exec& exec, const std::vector<View>& v) {
    ops::embedding_backward(exec, v[0], v[1], v[2]);
  };
  return op;
}

OpCase rms_norm_forward_case(DType x_dtype, DType weight_dtype, DType y_dtype, Size size) {
  OpCase op = named("rms_norm_forward", {x_dtype, weight_dtype, y_dtype}, size);
  constexpr float kEpsilon = 1e-5f;
  const HostTensor x = HostTensor(x_dtype, {size.rows, size.columns}).fill_normal(1);
  const HostTensor weight = HostTensor(weight_dtype, {size.columns}).fill_normal(2);
  const auto want = reference::rms_norm_forward(x.values(), weight.values(), kEpsilon);
  op.add("x", x);
  op.add("weight", weight);
  op.add("y", HostTensor(y_dtype, x.shape())).expect(want.y, size.columns);
  op.add("rstd", HostTensor(DType::f32, {size.rows})).expect(want.rstd, size.columns);
  op.call = [](const Exec& exec, const std::vector<View>& v) {
    ops::rms_norm_forward(exec, v[0], v[1], kEpsilon, v[2], v[3]);
  };
  return op;
}

OpCase rms_norm_backward_case(DType x_dtype, DType weight_dtype, bool trained, Size size) {
  OpCase op = named(trained ? "rms_norm_backward" : "rms_norm_backward_frozen",
                    {x_dtype, weight_dtype}, size);
  const Shape shape{size.rows, size.columns};
  const HostTensor d_y = HostTensor(DType::f32, shape).fill_normal(1);
  const HostTensor x = HostTensor(x_dtype, shape).fill_normal(2);
  const HostTensor weight = HostTensor(weight_dtype, {size.columns}).fill_normal(3);
  HostTensor rstd(DType::f32, {size.rows});
  rstd.fill(reference::rms_norm_forward(x.values(), weight.values(), 1e-5).rstd.value);
  const auto want =
      reference::rms_norm_backward(d_y.values(), x.values(), weight.values(), rstd.values());
  op.add("d_y", d_y);
  op.add("x", x);
  op.add("weight", weight);
  op.add("rstd", rstd);
  op.add("d_x", HostTensor(DType::f32, shape).fill_normal(4)).expect(want.d_x, size.columns, true);
  if (trained)
    op.add("d_weight", HostTensor(weight_dtype, {size.columns}).fill_normal(5))
        .expect(want.d_weight, size.rows, true);
  op.call = [trained](const Exec& exec, const std::vector<View>& v) {
    ops::rms_norm_backward(exec, v[0], v[1], v[2], v[3], v[4], trained ? v[5] : View());
  };
  return op;
}

OpCase rope_case(DType dtype, bool inverse, int64_t tokens, int64_t heads, int64_t head_dim) {
  OpCase op = named(inverse ? "rope_inverse" : "rope", {dtype}, {tokens, heads});
  op.name += fmt::format("x{}", head_dim);
  constexpr int64_t kPositions = 29;
  const HostTensor positions = HostTensor(DType::i32, {tokens}).fill_below(1, kPositions);
  HostTensor table(DType::f32, {kPositions, head_dim / 2, 2});
  for (int64_t i = 0; i < table.elements() / 2; ++i) {
    const double angle = 0.37 * static_cast<double>(i);
    table.set(2 * i, std::cos(angle));
    table.set(2 * i + 1, std::sin(angle));
  }
  HostTensor x = HostTensor(dtype, {tokens, heads, head_dim}).fill_normal(2);
  op.add("positions", positions);
  op.add("table", table);
  op.add("inout", x)
      .expect(
          reference::rope(x.values(), positions.values(), table.values(), heads, head_dim, inverse),
          2);
  op.call = [inverse](const Exec& exec, const std::vector<View>& v) {
    ops::rope(exec, v[0], v[1], inverse, v[2]);
  };
  return op;
}

OpCase swiglu_forward_case(DType gate_dtype, DType up_dtype, DType out_dtype, Size size) {
  OpCase op = named("swiglu_forward", {gate_dtype, up_dtype, out_dtype}, size);
  const Shape shape{size.rows, size.columns};
  const HostTensor gate = HostTensor(gate_dtype, shape).fill_normal(1, 4);
  const HostTensor up = HostTensor(up_dtype, shape).fill_normal(2);
  op.add("gate", gate);
  op.add("up", up);
  op.add("out", HostTensor(out_dtype, shape))
      .expect(reference::swiglu_forward(gate.values(), up.values()), 1);
  op.call = [](const Exec& exec, const std::vector<View>& v) {
    ops::swiglu_forward(exec, v[0], v[1], v[2]);
  };
  return op;
}

// d_up lies over d_out.
OpCase swiglu_backward_case(DType gate_dtype, DType up_dtype, Size size) {
  OpCase op = named("swiglu_backward", {gate_dtype, up_dtype}, size);
  const Shape shape{size.rows, size.columns};
  const HostTensor gate = HostTensor(gate_dtype, shape).fill_normal(1, 4);
  const HostTensor up = HostTensor(up_dtype, shape).fill_normal(2);
  const HostTensor d_out = HostTensor(DType::f32, shape).fill_normal(3);
  const auto want = reference::swiglu_backward(d_out.values(), gate.values(), up.values());
  op.add("gate", gate);
  op.add("up", up);
  op.add("d_out and d_up", d_out).expect(want.d_up, 1);
  op.add("d_gate", HostTensor(DType::f32, shape)).expect(want.d_gate, 1);
  op.call = [](const Exec& exec, const std::vector<View>& v) {
    ops::swiglu_backward(exec, v[2], v[0], v[1], v[3], v[2]);
  };
  return op;
}

}  // namespace

std::vector<OpCase> layer_cases() {
  std::vector<OpCase> cases;
  for (const Size size : kSizes) {
    for (const DType a : kFloats) {
      cases.push_back(embedding_backward_case(a, size));
      for (const DType b : kFloats) {
        cases.push_back(embedding_forward_case(a, b, size));
        cases.push_back(rms_norm_backward_case(a, b, true, size));
        cases.push_back(rms_norm_backward_case(a, b, false, size));
        cases.push_back(swiglu_backward_case(a, b, size));
        for (const DType c : kFloats) {
          cases.push_back(rms_norm_forward_case(a, b, c, size));
          cases.push_back(swiglu_forward_case(a, b, c, size));
        }
      }
    }
  }
  for (const DType dtype : kFloats)
    for (const bool inverse : {false, true}) {
      cases.push_back(rope_case(dtype, inverse, 0, 2, 8));
      cases.push_back(rope_case(dtype, inverse, 1, 1, 2));
      cases.push_back(rope_case(dtype, inverse, 5, 3, 34));
      cases.push_back(rope_case(dtype, inverse, 33, 2, 258));
    }
  return cases;
}

}  // namespace cairn::test
