// One attention call as a test states it: sizes, storage and random operands between canaries, run
// by the kernels and held against the reference.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "backend/cpu/attention/attention.h"
#include "base/bytes.h"
#include "base/random.h"
#include "numeric/bfloat16.h"
#include "reference/attention.h"
#include "support/tolerance.h"

namespace cairn::test {

// A stored tensor with guard bytes on both sides, aligned as the arena aligns.
class GuardedTensor {
 public:
  GuardedTensor(DType dtype, Shape shape)
      : dtype_(dtype), shape_(shape), bytes_(static_cast<size_t>(3 * kGuard + size()), kCanary) {}

  // Standard normal values of stream `stream`.
  GuardedTensor& fill(uint64_t stream) {
    const Random random(11, stream);
    for (int64_t i = 0; i < shape_.elements(); ++i) set(i, random.normal(static_cast<uint64_t>(i)));
    return *this;
  }
  void set(int64_t i, float value) {
    const bf16 rounded = to_bf16(value);
    if (dtype_ == DType::bf16)
      std::memcpy(data() + 2 * i, &rounded, 2);
    else
      std::memcpy(data() + 4 * i, &value, 4);
  }
  double at(int64_t i) const {
    if (dtype_ == DType::bf16) {
      bf16 value;
      std::memcpy(&value, data() + 2 * i, 2);
      return to_float(value);
    }
    float value;
    std::memcpy(&value, data() + 4 * i, 4);
    return value;
  }
  std::vector<double> values() const {
    std::vector<double> list;
    for (int64_t i = 0; i < shape_.elements(); ++i) list.push_back(at(i));
    return list;
  }
  View view() { return {data(), dtype_, shape_}; }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }

  // The bytes of rows [begin, end).
  std::string bytes(int64_t begin, int64_t end) const {
    const int64_t row = shape_.row_elements() * size_of(dtype_);
    return {reinterpret_cast<const char*>(data()) + begin * row,
            static_cast<size_t>((end - begin) * row)};
  }
  std::string bytes() const { return bytes(0, shape_[0]); }
  bool guards_hold() const {
    const auto* begin = bytes_.data();
    const auto* end = begin + bytes_.size();
    for (const auto* at = begin; at < data(); ++at)
      if (*at != kCanary) return false;
    for (const auto* at = data() + size(); at < end; ++at)
      if (*at != kCanary) return false;
    return true;
  }

 private:
  static constexpr int64_t kGuard = 64;
  static constexpr std::byte kCanary{0xA5};  // read as f32: a small negative number

  int64_t size() const { return shape_.elements() * size_of(dtype_); }
  size_t start() const {
    const auto address = reinterpret_cast<uintptr_t>(bytes_.data());
    return static_cast<size_t>(round_up(static_cast<int64_t>(address) + kGuard, 64) -
                               static_cast<int64_t>(address));
  }
  std::byte* data() { return bytes_.data() + start(); }
  const std::byte* data() const { return bytes_.data() + start(); }

  DType dtype_;
  Shape shape_;
  std::vector<std::byte> bytes_;
};

// Queries and keys of one segment.
struct Lengths {
  int64_t queries, keys;
};

// Probabilities below 2^-100 are 0; no gradient of a test is 2^20 times as large.
inline const double kVanished = std::ldexp(1.0, -80);

struct AttentionCase {
  std::vector<Lengths> segments;
  int64_t heads = 1, kv_heads = 1, head_dim = 64;
  DType storage = DType::f32;
  int64_t window = 0;
  float softcap = 0;

  std::string to_string() const {
    std::string text = fmt::format("heads={}/{} head_dim={} {} window={} softcap={} segments",
                                   heads, kv_heads, head_dim, name_of(storage), window, softcap);
    for (const Lengths& s : segments) text += fmt::format(" {}x{}", s.queries, s.keys);
    return text;
  }
  reference::AttentionSizes sizes() const {
    reference::AttentionSizes s{heads, kv_heads, head_dim, {0}, {0}, scale(), softcap, window};
    for (const Lengths& segment : segments) {
      s.cu_queries.push_back(s.cu_queries.back() + static_cast<int32_t>(segment.queries));
      s.cu_keys.push_back(s.cu_keys.back() + static_cast<int32_t>(segment.keys));
    }
    return s;
  }
  float scale() const { return 1 / std::sqrt(static_cast<float>(head_dim)); }
};

// The tensors of a case.
struct AttentionOperands {
  explicit AttentionOperands(const AttentionCase& c)
      : spec(c),
        sizes(c.sizes()),
        q(c.storage, query_shape()),
        k(c.storage, key_shape()),
        v(c.storage, key_shape()),
        out(c.storage, query_shape()),
        log_sum_exp(DType::f32, row_shape()),
        d_out(DType::f32, query_shape()),
        delta(DType::f32, row_shape()),
        d_q(DType::f32, query_shape()),
        d_k(DType::f32, key_shape()),
        d_v(DType::f32, key_shape()) {
    q.fill(1);
    k.fill(2);
    v.fill(3);
    d_out.fill(4);
  }

  Shape query_shape() const { return {sizes.tokens(), spec.heads, spec.head_dim}; }
  Shape key_shape() const { return {sizes.kv_tokens(), spec.kv_heads, spec.head_dim}; }
  Shape row_shape() const { return {sizes.tokens(), spec.heads}; }

  Attention attention() {
    const auto list = [](std::vector<int32_t>& values) {
      return ConstView(reinterpret_cast<const std::byte*>(values.data()), DType::i32,
                       {static_cast<int64_t>(values.size())});
    };
    return {.q = q.view(),
            .k = k.view(),
            .v = v.view(),
            .cu_queries = list(sizes.cu_queries),
            .cu_keys = list(sizes.cu_keys),
            .scale = spec.scale(),
            .softcap = spec.softcap,
            .window = spec.window};
  }

  void forward(int threads) {
    GuardedTensor scratch(DType::u8, {cpu::attention_scratch_bytes(threads, spec.head_dim, false)});
    cpu::attention_forward(attention(), out.view(), log_sum_exp.view(), threads,
                           scratch.view().data());
    ASSERT_TRUE(scratch.guards_hold()) << spec.to_string();
  }
  void backward(int threads) {
    GuardedTensor scratch(DType::u8, {cpu::attention_scratch_bytes(threads, spec.head_dim, true)});
    cpu::attention_backward(attention(), out.view(), log_sum_exp.view(), d_out.view(), delta.view(),
                            d_q.view(), d_k.view(), d_v.view(), threads, scratch.view().data());
    ASSERT_TRUE(scratch.guards_hold()) << spec.to_string();
  }

  // Every value within what rounding explains; `length` is the longest sum behind it.
  void expect_close(const GuardedTensor& got, const reference::Bounded<double>& want,
                    const char* name) const {
    int64_t longest = spec.head_dim;
    for (const Lengths& s : spec.segments)
      longest = std::max(longest, spec.head_dim + spec.heads / spec.kv_heads * s.queries + s.keys);
    for (int64_t i = 0; i < got.shape().elements(); ++i) {
      const auto at = static_cast<size_t>(i);
      if (want.value[at] == got.at(i)) continue;  // infinity too
      ASSERT_NEAR(got.at(i), want.value[at],
                  tolerance(got.dtype(), longest) * want.magnitude[at] + kVanished)
          << name << "[" << i << "] of " << spec.to_string();
    }
    ASSERT_TRUE(got.guards_hold()) << name << " of " << spec.to_string();
  }

  AttentionCase spec;
  reference::AttentionSizes sizes;
  GuardedTensor q, k, v, out, log_sum_exp, d_out, delta, d_q, d_k, d_v;
};

// Forward and backward against the reference.
inline void expect_right(const AttentionCase& spec, int threads) {
  AttentionOperands operands(spec);
  operands.forward(threads);
  const auto q = operands.q.values(), k = operands.k.values(), v = operands.v.values();
  const auto want = reference::attention_forward(operands.sizes, q, k, v);
  operands.expect_close(operands.out, want.out, "out");
  operands.expect_close(operands.log_sum_exp, want.log_sum_exp, "log_sum_exp");
  operands.backward(threads);
  const auto gradients = reference::attention_backward(
      operands.sizes, q, k, v, operands.out.values(), operands.d_out.values());
  operands.expect_close(operands.delta, gradients.delta, "delta");
  operands.expect_close(operands.d_v, gradients.d_v, "d_v");
  operands.expect_close(operands.d_k, gradients.d_k, "d_k");
  operands.expect_close(operands.d_q, gradients.d_q, "d_q");
}

}  // namespace cairn::test
