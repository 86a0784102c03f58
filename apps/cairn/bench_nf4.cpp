// cairn bench nf4: products on NF4 weights, decoded on the way, beside the same on bf16 weights, in
// turns.
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "bench.h"
#include "median.h"
#include "model/known_models.h"
#include "ops/gemm.h"
#include "ops/moving.h"
#include "ops/quantise.h"
#include "report/table.h"
#include "run_in_arena.h"

namespace cairn::program {
namespace {

struct Case {
  std::string what;
  int64_t tokens, out, in;
  bool backward;  // the gradient of the input, else forward
};

struct Rates {
  double bf16 = 0, nf4 = 0;  // operations a second, medians
};

// An NF4 weight with both levels of scales. What its codes are does not matter to the time.
class Weight {
 public:
  Weight(const Exec& exec, int64_t out, int64_t in)
      : table_(make(exec, "table", DType::f32, 16)),
        codes_(exec.make(Account::workspace, "codes", DType::u4, {out, in})),
        absmax_(make(exec, "absmax", DType::u8, ceil_div(out * in, kNf4Block))),
        nested_(
            make(exec, "nested absmax", DType::f32, ceil_div(absmax_.shape()[0], kNestedBlock))),
        nested_table_(make(exec, "nested table", DType::f32, 256)),
        offset_(make(exec, "offset", DType::f32, 1)) {
    for (Tensor* tensor : {&table_, &nested_, &nested_table_, &offset_})
      ops::fill_random(exec, {.scale = 1, .seed = 3}, tensor->view());
    for (Tensor* tensor : {&codes_, &absmax_}) {
      const int64_t floats = tensor->bytes() / int64_t{sizeof(float)};
      ops::fill_random(exec, {.scale = 1, .seed = 4},
                       View(tensor->view().data(), DType::f32, {floats}));
    }
  }

  ConstView codes() const { return codes_.view(); }
  QuantState quant() const {
    return {table_.view(),        absmax_.view(), nested_.view(),
            nested_table_.view(), offset_.view(), kNf4Block};
  }

 private:
  static Tensor make(const Exec& exec, std::string_view label, DType dtype, int64_t count) {
    return exec.make(Account::workspace, label, dtype, {count});
  }
  Tensor table_, codes_, absmax_, nested_, nested_table_, offset_;
};

Rates measure(const Case& one, Backend& backend, int repeats) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> bf16, nf4;
  run_in_arena(backend, [&](const Exec& exec, bool real) {
    const int64_t depth = one.backward ? one.out : one.in;
    const int64_t columns = one.backward ? one.in : one.out;
    Tensor a = exec.make(Account::workspace, "a", one.backward ? DType::f32 : DType::bf16,
                         {one.tokens, depth});
    Tensor b = exec.make(Account::workspace, "b", DType::bf16, {one.out, one.in});
    Tensor c = exec.make(Account::workspace, "c", one.backward ? DType::f32 : DType::bf16,
                         {one.tokens, columns});
    const Weight weight(exec, one.out, one.in);
    for (Tensor* tensor : {&a, &b}) ops::fill_random(exec, {.scale = 1, .seed = 1}, tensor->view());
    const auto seconds = [&](ConstView stored, const QuantState& quant) {
      const auto begin = Clock::now();
      ops::gemm(exec, {.a = a.view(),
                       .b = stored,
                       .c = c.view(),
                       .transpose_b = !one.backward,
                       .quant = quant});
      return std::chrono::duration<double>(Clock::now() - begin).count();
    };
    const double work = 2.0 * static_cast<double>(one.tokens * one.out) * one.in;
    for (int i = 0; i <= repeats; ++i) {
      const double wide = work / seconds(b.view(), {});
      const double coded = work / seconds(weight.codes(), weight.quant());
      if (!real || i == 0) continue;  // the first one warms up
      bf16.push_back(wide);
      nf4.push_back(coded);
    }
  });
  return {median(bf16), median(nf4)};
}

std::vector<Case> every_case(const std::vector<int64_t>& tokens) {
  const ModelConfig config = *find_known_model("llama-2-7b");
  std::vector<Case> cases;
  for (const int64_t count : tokens)
    for (const bool backward : {false, true}) {
      cases.push_back({"q, k, v, o", count, config.hidden, config.hidden, backward});
      cases.push_back({"gate, up", count, config.intermediate, config.hidden, backward});
      cases.push_back({"down", count, config.hidden, config.intermediate, backward});
    }
  return cases;
}

}  // namespace

int bench_nf4(const BenchOptions& options) {
  const std::unique_ptr<Backend> backend = open_backend("cpu", options.threads);
  Table table({{"llama-2-7b"},
               {"kind"},
               {"tokens", Align::right},
               {"bf16 GFLOP/s", Align::right},
               {"NF4 GFLOP/s", Align::right},
               {"ratio", Align::right}});
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  double least = 1e9;
  for (const Case& one : every_case(options.tokens)) {
    const Rates rates = measure(one, *backend, options.repeats);
    const double ratio = rates.nf4 / rates.bf16;
    least = std::min(least, ratio);
    const char* kind = one.backward ? "dy W" : "x W^T";
    table.add_row({one.what, kind, fmt::format("{}", one.tokens),
                   fmt::format("{:.0f}", rates.bf16 / 1e9), fmt::format("{:.0f}", rates.nf4 / 1e9),
                   fmt::format("{:.2f}", ratio)});
    rows.push_back({{"product", one.what},
                    {"kind", kind},
                    {"tokens", one.tokens},
                    {"bf16_gflops", rates.bf16 / 1e9},
                    {"nf4_gflops", rates.nf4 / 1e9},
                    {"ratio", ratio}});
  }
  if (options.json)
    fmt::print("{}\n", nlohmann::ordered_json{{"threads", backend->profile().threads},
                                              {"least_ratio", least},
                                              {"products", rows}}
                           .dump(2));
  else
    fmt::print("{}least ratio {:.2f}, {} threads; medians of {}, in turns\n", table.to_string(),
               least, backend->profile().threads, options.repeats);
  return kDone;
}

}  // namespace cairn::program
