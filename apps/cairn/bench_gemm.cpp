// cairn bench gemm: the product's door against oneDNN's best on the shapes of real blocks.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "bench.h"
#include "model/known_models.h"
#include "ops/moving.h"
#include "report/table.h"
#include "run_in_arena.h"

namespace cairn::program {
namespace {

enum class Kind { forward, input_gradient, weight_gradient };
constexpr std::array kKinds = {Kind::forward, Kind::input_gradient, Kind::weight_gradient};
constexpr std::array<std::string_view, 3> kKindNames = {"x W^T", "dy W", "dy^T x"};

struct Product {
  std::string what;
  Kind kind;
  int64_t tokens, out, in;
};

// The products of one block of a model.
std::vector<Product> products_of(const std::string& name, int64_t tokens) {
  const ModelConfig config = *find_known_model(name);
  std::vector<Product> list;
  const auto add = [&](const char* module, int64_t out, int64_t in) {
    for (Kind kind : kKinds) list.push_back({name + " " + module, kind, tokens, out, in});
  };
  add("q, o", config.query_width(), config.hidden);
  add("k, v", config.kv_width(), config.hidden);
  add("gate, up", config.intermediate, config.hidden);
  add("down", config.hidden, config.intermediate);
  return list;
}

// x [tokens, in], w [out, in], dy and y [tokens, out], dw [out, in].
Gemm make_gemm(const Product& product, View x, View w, View y, View dw, View dx) {
  switch (product.kind) {
    case Kind::forward:
      return {.a = x, .b = w, .c = y, .transpose_b = true};
    case Kind::input_gradient:
      return {.a = y, .b = w, .c = dx};
    case Kind::weight_gradient:
      return {.a = y, .b = x, .c = dw, .transpose_a = true};
  }
  return {};
}

GemmRates measure(const Product& product, Backend& backend, int repeats) {
  GemmRates rates;
  const int threads = backend.profile().threads;
  run_in_arena(backend, [&](const Exec& exec, bool real) {
    const auto make = [&](std::string_view label, DType dtype, int64_t rows, int64_t columns) {
      Tensor tensor = exec.make(Account::workspace, label, dtype, {rows, columns});
      ops::fill_random(exec, {.scale = 1, .seed = 1}, tensor.view());
      return tensor;
    };
    const int64_t t = product.tokens, out = product.out, in = product.in;
    Tensor x = make("x", DType::f32, t, in), w = make("w", DType::f32, out, in);
    Tensor y = make("y", DType::f32, t, out), dw = make("dw", DType::f32, out, in);
    Tensor dx = make("dx", DType::f32, t, in);
    Tensor short_x = make("short x", DType::bf16, t, in),
           short_w = make("short w", DType::bf16, out, in);
    Tensor short_y = make("short y", DType::bf16, t, out);
    const Gemm f32 = make_gemm(product, x.view(), w.view(), y.view(), dw.view(), dx.view());
    // As a bf16 run stores them: weights and activations bf16, gradients f32.
    const Gemm stored =
        make_gemm(product, short_x.view(), short_w.view(), y.view(), dw.view(), dx.view());
    Gemm bf16 = stored;
    if (product.kind != Kind::forward) bf16.a = short_y.view();
    const int64_t scratch_bytes = gemm_rates_scratch_bytes(f32, bf16, threads);
    Tensor scratch = exec.make_scratch("scratch", scratch_bytes);
    if (real) rates = measure_gemm_rates(stored, f32, bf16, threads, scratch.view(), repeats);
  });
  return rates;
}

}  // namespace

int bench_gemm(const BenchOptions& options) {
  const std::unique_ptr<Backend> backend = open_backend("cpu", options.threads);
  std::vector<Product> products = products_of("llama-3.2-1b", 2048);
  for (Product& product : products_of("llama-2-7b", 1024)) products.push_back(std::move(product));
  Table table({{"product"},
               {"kind"},
               {"tokens", Align::right},
               {"Cairn GFLOP/s", Align::right},
               {"oneDNN f32", Align::right},
               {"share", Align::right},
               {"oneDNN bf16", Align::right}});
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  double least = 1e9;
  for (const Product& product : products) {
    const GemmRates rates = measure(product, *backend, options.repeats);
    const double share = rates.packed / rates.onednn_f32;
    least = std::min(least, share);
    const std::string_view kind = kKindNames[static_cast<size_t>(product.kind)];
    table.add_row({product.what, std::string(kind), fmt::format("{}", product.tokens),
                   fmt::format("{:.0f}", rates.packed / 1e9),
                   fmt::format("{:.0f}", rates.onednn_f32 / 1e9), fmt::format("{:.2f}", share),
                   rates.onednn_bf16 > 0 ? fmt::format("{:.0f}", rates.onednn_bf16 / 1e9) : "-"});
    rows.push_back({{"product", product.what},
                    {"kind", kind},
                    {"tokens", product.tokens},
                    {"gemm_gflops", rates.packed / 1e9},
                    {"onednn_f32_gflops", rates.onednn_f32 / 1e9},
                    {"onednn_bf16_gflops", rates.onednn_bf16 / 1e9},
                    {"share", share}});
  }
  if (options.json)
    fmt::print("{}\n", nlohmann::ordered_json{{"threads", backend->profile().threads},
                                              {"instruction_set", cpu_instruction_set()},
                                              {"least_share", least},
                                              {"products", rows}}
                           .dump(2));
  else
    fmt::print(
        "{}least share {:.2f}, {} threads, {}; weights and activations in bf16, decoded beside the "
        "product; oneDNN f32 reads f32\n",
        table.to_string(), least, backend->profile().threads, cpu_instruction_set());
  return kDone;
}

}  // namespace cairn::program
