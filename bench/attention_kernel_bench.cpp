// Rates of causal attention on the shapes of real models, beside the f32 product of the same
// machine in the same run; medians. Work counts the pairs that the mask leaves: 4 operations a pair
// and element forward, 10 backward. Usage: attention_kernel_bench [threads] [repetitions]
#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <vector>

#include "backend/cpu/attention/attention.h"
#include "backend/cpu/gemm/packed.h"
#include "base/bytes.h"
#include "numeric/bfloat16.h"

namespace cairn {
namespace {

// A tensor in memory as an arena lends it: huge pages where the machine has them. It lives as long
// as the program.
View make_tensor(DType dtype, Shape shape, uint32_t seed) {
  const auto bytes = static_cast<size_t>(round_up(shape.elements() * size_of(dtype) + 1, 2 * kMiB));
  auto* const data = static_cast<std::byte*>(std::aligned_alloc(2 * kMiB, bytes));
  madvise(data, bytes, MADV_HUGEPAGE);
  View view(data, dtype, shape);
  for (int64_t i = 0; i < shape.elements(); ++i) {
    seed = seed * 1664525u + 1013904223u;
    const float value = static_cast<float>(seed >> 8) / 8388608.0f - 1;
    if (dtype == DType::bf16) view.as<bf16>()[i] = to_bf16(value);
    if (dtype == DType::f32) view.as<float>()[i] = value;
  }
  return view;
}

template <typename Run>
double seconds_of(const Run& run) {
  const auto start = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

struct Product {
  explicit Product(int threads_to_use)
      : threads(threads_to_use),
        scratch(make_tensor(DType::u8, {cpu::packed_gemm_scratch_bytes(threads)}, 0)) {}
  void run() const { cpu::packed_gemm({.a = a, .b = b, .c = c}, threads, scratch.data()); }
  double operations() const { return 2.0 * kSize * kSize * kSize; }

  static constexpr int64_t kSize = 1536;
  int threads;
  View a = make_tensor(DType::f32, {kSize, kSize}, 1);
  View b = make_tensor(DType::f32, {kSize, kSize}, 2);
  View c = make_tensor(DType::f32, {kSize, kSize}, 3);
  View scratch;
};

struct BenchCase {
  int64_t tokens, segment, heads, kv_heads, head_dim;
  DType storage;
};

void bench(const BenchCase& s, const Product& product, int threads, int repetitions) {
  const Shape query_shape{s.tokens, s.heads, s.head_dim};
  const Shape key_shape{s.tokens, s.kv_heads, s.head_dim};
  std::vector<int32_t> starts;
  for (int64_t i = 0; i <= s.tokens; i += s.segment) starts.push_back(static_cast<int32_t>(i));
  const ConstView cu(reinterpret_cast<const std::byte*>(starts.data()), DType::i32,
                     {static_cast<int64_t>(starts.size())});
  const Attention attention{make_tensor(s.storage, query_shape, 1),
                            make_tensor(s.storage, key_shape, 2),
                            make_tensor(s.storage, key_shape, 3),
                            cu,
                            cu,
                            1 / std::sqrt(static_cast<float>(s.head_dim))};
  const View out = make_tensor(s.storage, query_shape, 4);
  const View log_sum_exp = make_tensor(DType::f32, {s.tokens, s.heads}, 5);
  const View delta = make_tensor(DType::f32, {s.tokens, s.heads}, 6);
  const View d_out = make_tensor(DType::f32, query_shape, 7);
  const View d_q = make_tensor(DType::f32, query_shape, 8);
  const View d_k = make_tensor(DType::f32, key_shape, 9);
  const View d_v = make_tensor(DType::f32, key_shape, 10);
  const View scratch =
      make_tensor(DType::u8, {cpu::attention_scratch_bytes(threads, s.head_dim, true)}, 0);

  std::vector<double> forward, backward, peak;
  for (int i = 0; i < repetitions; ++i) {
    peak.push_back(seconds_of([&] { product.run(); }));
    forward.push_back(seconds_of(
        [&] { cpu::attention_forward(attention, out, log_sum_exp, threads, scratch.data()); }));
    backward.push_back(seconds_of([&] {
      cpu::attention_backward(attention, out, log_sum_exp, d_out, delta, d_q, d_k, d_v, threads,
                              scratch.data());
    }));
  }
  const double pairs =
      static_cast<double>(s.tokens * s.heads * s.head_dim) * static_cast<double>(s.segment + 1) / 2;
  const double gemm = product.operations() / median(peak);
  const double f = median(forward), b = median(backward);
  fmt::print(
      "{:5} tokens in {:5} heads {:2}/{} of {:3} {:4}: forward {:6.1f} backward {:6.1f} both "
      "{:6.1f} "
      "GFLOP/s, product {:6.1f}, shares {:.2f} {:.2f} {:.2f}\n",
      s.tokens, s.segment, s.heads, s.kv_heads, s.head_dim, name_of(s.storage),
      4 * pairs / f * 1e-9, 10 * pairs / b * 1e-9, 14 * pairs / (f + b) * 1e-9, gemm * 1e-9,
      4 * pairs / f / gemm, 10 * pairs / b / gemm, 14 * pairs / (f + b) / gemm);
}

}  // namespace
}  // namespace cairn

int main(int argc, char** argv) {
  using cairn::DType;
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const int repetitions = argc > 2 ? std::atoi(argv[2]) : 5;
  const cairn::Product product(threads);
  for (DType storage : {DType::f32, DType::bf16})
    for (const auto& [tokens, segment] :
         {std::pair<int64_t, int64_t>{256, 256}, {2048, 256}, {2048, 2048}, {4096, 4096}})
      for (const auto& [heads, kv_heads, head_dim] :
           {std::array<int64_t, 3>{32, 8, 128}, {9, 3, 64}, {12, 12, 64}})
        cairn::bench({tokens, segment, heads, kv_heads, head_dim, storage}, product, threads,
                     repetitions);
  return 0;
}
