#include "ops/attention.h"

#include "ops/check.h"

namespace cairn::ops {
namespace {

void check_inputs(std::string_view op, const Attention& attention) {
  const Shape &q = attention.q.shape(), &k = attention.k.shape();
  CAIRN_CHECK(q.rank() == 3 && k.rank() == 3,
              "[{}] wanted q and k of shape [tokens, heads, head_dim], got {} and {}", op,
              q.to_string(), k.to_string());
  CAIRN_CHECK(k[1] > 0 && q[1] % k[1] == 0 && q[2] == k[2],
              "[{}] wanted query heads in whole groups of key heads of one size, got {} and {}", op,
              q.to_string(), k.to_string());
  CAIRN_CHECK(attention.window >= 0 && attention.softcap >= 0,
              "[{}] wanted a window and a softcap of at least 0, got {} and {}", op,
              attention.window, attention.softcap);
  check_shape(op, "v", attention.v, k);
  check_float(op, "q", attention.q);
  check_float(op, "k", attention.k);
  check_float(op, "v", attention.v);
  check_dtype(op, "cu_queries", attention.cu_queries, DType::i32);
  check_dtype(op, "cu_keys", attention.cu_keys, DType::i32);
  check_elements(op, "cu_keys", attention.cu_keys, attention.cu_queries.elements());
}

void check_out(std::string_view op, const Attention& attention, ConstView out) {
  check_float(op, "out", out);
  check_shape(op, "out", out, attention.q.shape());
}

void check_results(std::string_view op, const Attention& attention, ConstView out,
                   ConstView log_sum_exp) {
  check_out(op, attention, out);
  check_dtype(op, "log_sum_exp", log_sum_exp, DType::f32);
  check_matrix(op, "log_sum_exp", log_sum_exp, attention.q.shape()[0], attention.q.shape()[1]);
}

void check_probabilities(std::string_view op, const Attention& attention, ConstView probabilities) {
  check_float(op, "probabilities", probabilities);
  const Shape& q = attention.q.shape();
  CAIRN_CHECK(probabilities.shape().rank() == 3 && probabilities.shape()[0] == q[0] &&
                  probabilities.shape()[1] == q[1],
              "[{}] wanted probabilities of shape [{}, {}, longest segment], got {}", op, q[0],
              q[1], probabilities.shape().to_string());
}

void check_gradients(std::string_view op, const Attention& attention, ConstView d_out,
                     ConstView d_q, ConstView d_k, ConstView d_v) {
  const auto check = [&](std::string_view name, ConstView gradient, const Shape& shape) {
    check_dtype(op, name, gradient, DType::f32);
    check_shape(op, name, gradient, shape);
  };
  check("d_out", d_out, attention.q.shape());
  check("d_q", d_q, attention.q.shape());
  check("d_k", d_k, attention.k.shape());
  check("d_v", d_v, attention.k.shape());
}

Tensor make_square_scratch(const Exec& exec, ConstView probabilities) {
  return exec.make_scratch("attention scratch", exec.kernels().attention_materialised_scratch_bytes(
                                                    probabilities.shape()[2]));
}

}  // namespace

void attention_forward(const Exec& exec, const Attention& attention, View out, View log_sum_exp) {
  check_inputs("attention_forward", attention);
  check_results("attention_forward", attention, out, log_sum_exp);
  const int64_t head_dim = attention.q.shape()[2];
  Tensor scratch = exec.make_scratch("attention scratch",
                                     exec.kernels().attention_scratch_bytes(head_dim, false));
  exec.kernels().attention_forward(exec.stream, attention, out, log_sum_exp, scratch.view());
}

void attention_backward(const Exec& exec, const Attention& attention, ConstView out,
                        ConstView log_sum_exp, ConstView d_out, View delta, View d_q, View d_k,
                        View d_v) {
  check_inputs("attention_backward", attention);
  check_results("attention_backward", attention, out, log_sum_exp);
  const Shape& q = attention.q.shape();
  check_gradients("attention_backward", attention, d_out, d_q, d_k, d_v);
  check_dtype("attention_backward", "delta", delta, DType::f32);
  check_matrix("attention_backward", "delta", delta, q[0], q[1]);
  Tensor scratch =
      exec.make_scratch("attention scratch", exec.kernels().attention_scratch_bytes(q[2], true));
  exec.kernels().attention_backward(exec.stream, attention, out, log_sum_exp, d_out, delta, d_q,
                                    d_k, d_v, scratch.view());
}

void attention_materialised_forward(const Exec& exec, const Attention& attention, View out,
                                    View probabilities) {
  check_inputs("attention_materialised_forward", attention);
  check_out("attention_materialised_forward", attention, out);
  check_probabilities("attention_materialised_forward", attention, probabilities);
  Tensor scratch = make_square_scratch(exec, probabilities);
  exec.kernels().attention_materialised_forward(exec.stream, attention, out, probabilities,
                                                scratch.view());
}

void attention_materialised_backward(const Exec& exec, const Attention& attention,
                                     ConstView probabilities, ConstView d_out, View d_q, View d_k,
                                     View d_v) {
  check_inputs("attention_materialised_backward", attention);
  check_probabilities("attention_materialised_backward", attention, probabilities);
  check_gradients("attention_materialised_backward", attention, d_out, d_q, d_k, d_v);
  Tensor scratch = make_square_scratch(exec, probabilities);
  exec.kernels().attention_materialised_backward(exec.stream, attention, probabilities, d_out, d_q,
                                                 d_k, d_v, scratch.view());
}

}  // namespace cairn::ops
