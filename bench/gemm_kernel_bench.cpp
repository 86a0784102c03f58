// Rates of the matrix product on the shapes of real models: our packed kernel against oneDNN's best
// f32 (and its bf16), interleaved in one run, medians. Usage: gemm_kernel_bench [threads] [filter]
#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "backend/cpu/gemm/gemm.h"
#include "backend/cpu/gemm/onednn.h"
#include "backend/cpu/gemm/packed.h"
#include "base/bytes.h"
#include "base/random.h"
#include "numeric/bfloat16.h"

namespace cairn {
namespace {

// Memory as an arena lends it: huge pages where the machine has them.
class Slab {
 public:
  explicit Slab(int64_t bytes)
      : data_(static_cast<std::byte*>(
            std::aligned_alloc(2 * kMiB, static_cast<size_t>(round_up(bytes, 2 * kMiB))))) {
    madvise(data_.get(), static_cast<size_t>(round_up(bytes, 2 * kMiB)), MADV_HUGEPAGE);
  }
  std::byte* data() const { return data_.get(); }

 private:
  struct Free {
    void operator()(std::byte* data) const { std::free(data); }
  };
  std::unique_ptr<std::byte, Free> data_;
};

struct Matrix {
  Matrix(DType dtype, int64_t rows, int64_t columns)
      : slab(rows * columns * size_of(dtype)), view(slab.data(), dtype, {rows, columns}) {
    const Random random(1, static_cast<uint64_t>(rows));
    for (int64_t i = 0; i < rows * columns; ++i) {
      const float value = static_cast<float>((i * 7919) % 255) / 255.0f - 0.5f;
      if (dtype == DType::bf16)
        view.as<bf16>()[i] = to_bf16(value);
      else
        view.as<float>()[i] = value;
    }
  }
  Slab slab;
  View view;
};

enum class Kind { nt, nn, tn };

// A linear layer [inputs -> outputs] over some tokens, in one of its three products.
struct Line {
  std::string model;
  int64_t tokens, inputs, outputs;
};

double seconds_of(const auto& run) {
  const auto start = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

Gemm product(Kind kind, const Line& line, ConstView x, ConstView weight, ConstView d_y, View c) {
  switch (kind) {
    case Kind::nt:
      return {
          .a = x, .b = weight, .c = c.view_as({line.tokens, line.outputs}), .transpose_b = true};
    case Kind::nn:
      return {.a = d_y, .b = weight, .c = c.view_as({line.tokens, line.inputs})};
    default:
      return {.a = d_y, .b = x, .c = c.view_as({line.outputs, line.inputs}), .transpose_a = true};
  }
}

// One row of the table: f32 packed, f32 oneDNN, packed with bf16 weights (and activations), oneDNN
// with both operands in bf16.
void measure(const Line& line, Kind kind, int threads, const std::string& filter) {
  constexpr const char* kNames[] = {"NT", "NN", "TN"};
  const std::string name = fmt::format("{} T={} K={} N={} {}", line.model, line.tokens, line.inputs,
                                       line.outputs, kNames[static_cast<int>(kind)]);
  if (name.find(filter) == std::string::npos) return;
  const Matrix x(DType::f32, line.tokens, line.inputs),
      weight(DType::f32, line.outputs, line.inputs), d_y(DType::f32, line.tokens, line.outputs);
  const Matrix x16(DType::bf16, line.tokens, line.inputs),
      weight16(DType::bf16, line.outputs, line.inputs),
      d_y16(DType::bf16, line.tokens, line.outputs);
  const int64_t c_rows = kind == Kind::tn ? line.outputs : line.tokens;
  const Matrix c(DType::f32, c_rows, kind == Kind::nt ? line.outputs : line.inputs);
  const Matrix c16(DType::bf16, c_rows, kind == Kind::nt ? line.outputs : line.inputs);
  const Gemm wide = product(kind, line, x.view, weight.view, d_y.view, c.view);
  // As in training: activations and weights in bf16, gradients in flight in f32.
  const Gemm stored =
      product(kind, line, x16.view, weight16.view, d_y.view, kind == Kind::nt ? c16.view : c.view);
  const Gemm narrow = product(kind, line, x16.view, weight16.view, d_y16.view, c.view);

  const Slab scratch(
      std::max({cpu::gemm_scratch_bytes(threads), cpu::onednn_gemm_scratch_bytes(wide, threads),
                cpu::onednn_gemm_scratch_bytes(narrow, threads)}));
  std::vector<double> times[4];
  const double flops = 2.0 * static_cast<double>(line.tokens * line.inputs * line.outputs);
  const int rounds = std::clamp(static_cast<int>(1.5e11 / flops), 3, 25);
  for (int round = 0; round <= rounds; ++round) {
    const double seconds[] = {
        seconds_of([&] { cpu::packed_gemm(wide, threads, scratch.data()); }),
        seconds_of([&] { cpu::onednn_gemm(wide, threads, scratch.data()); }),
        seconds_of([&] { cpu::packed_gemm(stored, threads, scratch.data()); }),
        seconds_of([&] { cpu::onednn_gemm(narrow, threads, scratch.data()); })};
    for (int i = 0; i < 4 && round > 0; ++i) times[i].push_back(seconds[i]);
  }
  double rate[4];
  for (int i = 0; i < 4; ++i) rate[i] = flops / median(times[i]) * 1e-9;
  fmt::print(
      "{:<36} packed {:6.1f}  onednn {:6.1f}  ratio {:5.3f} | bf16 stored {:6.1f}  ratio {:5.3f} "
      "| onednn bf16 {:7.1f} scratch {:.2f} MiB\n",
      name, rate[0], rate[1], rate[0] / rate[1], rate[2], rate[2] / rate[1], rate[3],
      static_cast<double>(cpu::onednn_gemm_scratch_bytes(narrow, threads)) / kMiB);
  std::fflush(stdout);
}

void measure_all(int threads, const std::string& filter) {
  const std::vector<Line> lines = {
      {"1B", 2048, 2048, 2048},  {"1B", 2048, 2048, 8192},  {"1B", 2048, 8192, 2048},
      {"1B", 2048, 2048, 512},   {"1B", 512, 2048, 2048},   {"1B", 512, 2048, 8192},
      {"1B", 512, 8192, 2048},   {"1B", 512, 2048, 512},    {"7B", 1024, 4096, 4096},
      {"7B", 1024, 4096, 11008}, {"7B", 1024, 11008, 4096}, {"135M", 2048, 576, 576},
      {"135M", 2048, 576, 192},  {"135M", 2048, 576, 1536}, {"135M", 2048, 1536, 576},
      {"135M", 256, 576, 576},   {"135M", 256, 576, 192},   {"135M", 256, 576, 1536},
      {"135M", 256, 1536, 576},  {"135M", 256, 576, 49152}, {"lora", 2048, 2048, 16},
      {"lora", 2048, 16, 2048},  {"lora", 2048, 2048, 8},   {"lora", 2048, 8, 2048},
      {"gen", 1, 2048, 8192},    {"gen", 1, 8192, 2048},    {"gen", 4, 2048, 8192}};
  for (const Line& line : lines)
    for (Kind kind : {Kind::nt, Kind::nn, Kind::tn}) measure(line, kind, threads, filter);
}

}  // namespace
}  // namespace cairn

int main(int count, char** arguments) {
  cairn::measure_all(count > 1 ? std::atoi(arguments[1]) : 2, count > 2 ? arguments[2] : "");
}
