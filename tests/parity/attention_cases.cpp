// Attention, as the op takes it, on packed segments and grouped heads.
#include "ops/attention.h"
#include "parity/op_case.h"
#include "reference/attention.h"

namespace cairn::test {
namespace {

struct Inputs {
  reference::AttentionSizes sizes;
  HostTensor q, k, v, cu_queries, cu_keys;
};

HostTensor offsets_tensor(const std::vector<int32_t>& offsets) {
  HostTensor tensor(DType::i32, {static_cast<int64_t>(offsets.size())});
  for (size_t i = 0; i < offsets.size(); ++i) tensor.set(static_cast<int64_t>(i), offsets[i]);
  return tensor;
}

Inputs make_inputs(const reference::AttentionSizes& s, DType dtype) {
  return {s,
          HostTensor(dtype, {s.tokens(), s.heads, s.head_dim}).fill_normal(1),
          HostTensor(dtype, {s.kv_tokens(), s.kv_heads, s.head_dim}).fill_normal(2),
          HostTensor(dtype, {s.kv_tokens(), s.kv_heads, s.head_dim}).fill_normal(3),
          offsets_tensor(s.cu_queries),
          offsets_tensor(s.cu_keys)};
}

void add_inputs(OpCase& op, const Inputs& in) {
  op.add("q", in.q);
  op.add("k", in.k);
  op.add("v", in.v);
  op.add("cu_queries", in.cu_queries);
  op.add("cu_keys", in.cu_keys);
}

Attention attention_of(const std::vector<View>& v, const reference::AttentionSizes& s) {
  return {.q = v[0],
          .k = v[1],
          .v = v[2],
          .cu_queries = v[3],
          .cu_keys = v[4],
          .scale = static_cast<float>(s.scale),
          .softcap = static_cast<float>(s.softcap),
          .window = s.window};
}

OpCase forward_case(const std::string& name, const reference::AttentionSizes& s, DType dtype) {
  OpCase op{fmt::format("attention_forward_{}_{}", name_of(dtype), name), {}, {}};
  const Inputs in = make_inputs(s, dtype);
  const auto want = reference::attention_forward(s, in.q.values(), in.k.values(), in.v.values());
  add_inputs(op, in);
  op.add("out", HostTensor(dtype, in.q.shape())).expect(want.out, s.kv_tokens() + s.head_dim);
  op.add("log_sum_exp", HostTensor(DType::f32, {s.tokens(), s.heads}))
      .expect(want.log_sum_exp, s.kv_tokens() + s.head_dim);
  op.call = [s](const Exec& exec, const std::vector<View>& v) {
    ops::attention_forward(exec, attention_of(v, s), v[5], v[6]);
  };
  return op;
}

OpCase backward_case(const std::string& name, const reference::AttentionSizes& s, DType dtype) {
  OpCase op{fmt::format("attention_backward_{}_{}", name_of(dtype), name), {}, {}};
  const Inputs in = make_inputs(s, dtype);
  const auto forward = reference::attention_forward(s, in.q.values(), in.k.values(), in.v.values());
  HostTensor out(dtype, in.q.shape()), log_sum_exp(DType::f32, {s.tokens(), s.heads});
  out.fill(forward.out.value);
  log_sum_exp.fill(forward.log_sum_exp.value);
  const HostTensor d_out = HostTensor(DType::f32, in.q.shape()).fill_normal(4);
  const auto want = reference::attention_backward(s, in.q.values(), in.k.values(), in.v.values(),
                                                  out.values(), d_out.values());
  const int64_t length = s.tokens() + s.kv_tokens() + s.head_dim;
  add_inputs(op, in);
  op.add("out", out);
  op.add("log_sum_exp", log_sum_exp);
  op.add("d_out", d_out);
  op.add("delta", HostTensor(DType::f32, {s.tokens(), s.heads})).expect(want.delta, s.head_dim);
  op.add("d_q", HostTensor(DType::f32, in.q.shape())).expect(want.d_q, length);
  op.add("d_k", HostTensor(DType::f32, in.k.shape())).expect(want.d_k, length);
  op.add("d_v", HostTensor(DType::f32, in.k.shape())).expect(want.d_v, length);
  op.call = [s](const Exec& exec, const std::vector<View>& v) {
    ops::attention_backward(exec, attention_of(v, s), v[5], v[6], v[7], v[8], v[9], v[10], v[11]);
  };
  return op;
}

int64_t longest_segment(const reference::AttentionSizes& s) {
  int64_t longest = 0;
  for (size_t i = 0; i + 1 < s.cu_keys.size(); ++i)
    longest = std::max<int64_t>(longest, s.cu_keys[i + 1] - s.cu_keys[i]);
  return longest + 3;  // a capacity that no segment fills
}

OpCase materialised_forward_case(const std::string& name, const reference::AttentionSizes& s,
                                 DType dtype) {
  OpCase op{fmt::format("attention_materialised_forward_{}_{}", name_of(dtype), name), {}, {}};
  const Inputs in = make_inputs(s, dtype);
  const int64_t longest = longest_segment(s), length = s.kv_tokens() + s.head_dim;
  const auto want = reference::attention_materialised_forward(s, longest, in.q.values(),
                                                              in.k.values(), in.v.values());
  add_inputs(op, in);
  op.add("out", HostTensor(dtype, in.q.shape())).expect(want.out, length);
  op.add("probabilities", HostTensor(dtype, {s.tokens(), s.heads, longest}))
      .expect(want.probabilities, length);
  op.call = [s](const Exec& exec, const std::vector<View>& v) {
    ops::attention_materialised_forward(exec, attention_of(v, s), v[5], v[6]);
  };
  return op;
}

OpCase materialised_backward_case(const std::string& name, const reference::AttentionSizes& s,
                                  DType dtype) {
  OpCase op{fmt::format("attention_materialised_backward_{}_{}", name_of(dtype), name), {}, {}};
  const Inputs in = make_inputs(s, dtype);
  const int64_t longest = longest_segment(s), length = s.tokens() + s.kv_tokens() + s.head_dim;
  HostTensor probabilities(dtype, {s.tokens(), s.heads, longest});
  probabilities.fill(reference::attention_materialised_forward(s, longest, in.q.values(),
                                                               in.k.values(), in.v.values())
                         .probabilities.value);
  const HostTensor d_out = HostTensor(DType::f32, in.q.shape()).fill_normal(4);
  const auto want = reference::attention_materialised_backward(
      s, longest, in.q.values(), in.k.values(), in.v.values(), probabilities.values(),
      d_out.values());
  add_inputs(op, in);
  op.add("probabilities", probabilities);
  op.add("d_out", d_out);
  op.add("d_q", HostTensor(DType::f32, in.q.shape())).expect(want.d_q, length);
  op.add("d_k", HostTensor(DType::f32, in.k.shape())).expect(want.d_k, length);
  op.add("d_v", HostTensor(DType::f32, in.k.shape())).expect(want.d_v, length);
  op.call = [s](const Exec& exec, const std::vector<View>& v) {
    ops::attention_materialised_backward(exec, attention_of(v, s), v[5], v[6], v[7], v[8], v[9]);
  };
  return op;
}

}  // namespace

std::vector<OpCase> attention_cases() {
  std::vector<OpCase> cases;
  const auto both = [&](const std::string& name, const reference::AttentionSizes& s) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      cases.push_back(forward_case(name, s, dtype));
      cases.push_back(backward_case(name, s, dtype));
      cases.push_back(materialised_forward_case(name, s, dtype));
      cases.push_back(materialised_backward_case(name, s, dtype));
    }
  };
  both("nothing", {2, 1, 8, {0, 0}, {0, 0}, 0.5});
  both("one_token", {1, 1, 4, {0, 1}, {0, 1}, 0.5});
  both("packed_grouped", {6, 2, 16, {0, 5, 5, 42, 107}, {0, 5, 5, 42, 107}, 0.25});
  both("after_a_cache", {2, 2, 40, {0, 3, 4}, {0, 33, 71}, 0.158});
  // Past a block of queries of the materialised square.
  both("long", {2, 1, 8, {0, 300}, {0, 300}, 0.35});
  both("windowed", {6, 2, 16, {0, 5, 42, 182}, {0, 5, 42, 182}, 0.25, 0, 37});
  both("capped", {4, 2, 24, {0, 9, 79}, {0, 9, 79}, 0.2, 1.5, 0});
  return cases;
}

}  // namespace cairn::test
