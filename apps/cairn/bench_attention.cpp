// cairn bench attention: what tiled attention and the materialised one take, rehearsed, and how
// fast they are beside each other and beside the product, in turns.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/bytes.h"
#include "bench.h"
#include "bench_attention_runs.h"
#include "median.h"
#include "report/table.h"
#include "run_in_arena.h"

namespace cairn::program {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::array<int64_t, 4> kMemoryLengths = {2048, 4096, 8192, 16384};

// Beyond this length the probabilities take more than a GiB, and four times as much at twice it.
constexpr int64_t kLongestSquare = 4096;

double seconds_of(const std::function<void()>& work) {
  const auto begin = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Workspace of forward and backward together, from the rehearsal.
int64_t workspace_bytes(const TargetProfile& profile, int64_t tokens, AttentionKind kind) {
  const auto backend = open_rehearsal(profile);
  Ledger ledger;
  {
    Arena arena(backend->device(), ledger);
    const Arena::PhaseScope phase(arena, Phase::step);
    const Exec exec{*backend, arena};
    AttentionRun(exec, tokens, kind).run();
  }
  return ledger.snapshot().peaks_of_accounts()[static_cast<size_t>(Account::workspace)];
}

std::string workspace_formula(const TargetProfile& profile) {
  TargetProfile one = profile, two = profile;
  one.threads = 1;
  two.threads = 2;
  const auto scratch = [](const TargetProfile& target) {
    return open_rehearsal(target)->kernels().attention_scratch_bytes(kHeadDim, true);
  };
  const int64_t each = scratch(two) - scratch(one), shared = scratch(one) - each;
  return fmt::format(
      "flash, heads of {}: {} + threads x {}, and 8 bytes a token and head for log-sum-exp and "
      "delta",
      kHeadDim, format_bytes(shared), format_bytes(each));
}

// What a causal layer must compute: two products forward, five backward, over the pairs that the
// mask leaves.
double useful_flops(int64_t tokens) {
  const auto n = static_cast<double>(tokens);
  return 14.0 * kHeads * kHeadDim * n * (n + 1) / 2;
}

struct Speed {
  int64_t tokens = 0;
  double flash_seconds = 0, product_rate = 0;
  std::optional<double> materialised_seconds;  // none where its square would not fit a machine

  double share() const { return useful_flops(tokens) / flash_seconds / product_rate; }
};

Speed measure(const BenchOptions& options, Backend& backend, int64_t tokens) {
  Speed speed{tokens, 0, 0, {}};
  const int repeats = options.repeats;
  const bool with_square = tokens <= kLongestSquare && !options.only_flash;
  run_in_arena(backend, [&](const Exec& exec, bool real) {
    ProductRun product(exec);
    AttentionRun flash(exec, tokens, AttentionKind::flash);
    std::optional<AttentionRun> square;
    if (with_square) square.emplace(exec, tokens, AttentionKind::materialised);
    std::vector<double> rates, flash_seconds, square_seconds;
    // The first turn warms up; a long sequence needs no warming.
    const int turns = repeats + (tokens <= kLongestSquare ? 1 : 0);
    for (int turn = 0; turn < turns; ++turn) {
      const bool counts = turns - turn <= repeats;
      const double product_seconds = seconds_of([&] { product.run(); });
      const double flash_time = seconds_of([&] { flash.run(); });
      if (counts) rates.push_back(ProductRun::kOperations / product_seconds);
      if (counts) flash_seconds.push_back(flash_time);
      if (!square) continue;
      const double square_time = seconds_of([&] { square->run(); });
      if (counts) square_seconds.push_back(square_time);
    }
    if (!real) return;
    speed.product_rate = median(rates);
    speed.flash_seconds = median(flash_seconds);
    if (square) speed.materialised_seconds = median(square_seconds);
  });
  return speed;
}

nlohmann::ordered_json memory_rows(const TargetProfile& profile, Table& table) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const int64_t tokens : kMemoryLengths) {
    const int64_t flash = workspace_bytes(profile, tokens, AttentionKind::flash);
    const int64_t square = workspace_bytes(profile, tokens, AttentionKind::materialised);
    table.add_row(
        {fmt::format("{}", tokens), format_bytes(flash), format_bytes(square),
         fmt::format("{:.0f}", static_cast<double>(square) / static_cast<double>(flash))});
    rows.push_back({{"tokens", tokens}, {"flash_bytes", flash}, {"materialised_bytes", square}});
  }
  return rows;
}

nlohmann::ordered_json speed_rows(const BenchOptions& options, Backend& backend, Table& table) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const int64_t tokens : options.tokens) {
    const Speed speed = measure(options, backend, tokens);
    nlohmann::ordered_json row = {{"tokens", tokens},
                                  {"flash_seconds", speed.flash_seconds},
                                  {"gemm_gflops", speed.product_rate / 1e9},
                                  {"share", speed.share()}};
    std::string square = "-", ratio = "-";
    if (speed.materialised_seconds) {
      row["materialised_seconds"] = *speed.materialised_seconds;
      row["ratio"] = *speed.materialised_seconds / speed.flash_seconds;
      square = fmt::format("{:.3f}", *speed.materialised_seconds);
      ratio = fmt::format("{:.2f}", row["ratio"].get<double>());
    }
    table.add_row({fmt::format("{}", tokens), fmt::format("{:.3f}", speed.flash_seconds), square,
                   ratio, fmt::format("{:.0f}", useful_flops(tokens) / speed.flash_seconds / 1e9),
                   fmt::format("{:.0f}", speed.product_rate / 1e9),
                   fmt::format("{:.2f}", speed.share())});
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

int bench_attention(const BenchOptions& options) {
  const std::unique_ptr<Backend> backend = open_backend("cpu", options.threads);
  const int threads = backend->profile().threads;
  const std::string formula = workspace_formula(backend->profile());
  Table memory({{"tokens", Align::right},
                {"flash workspace", Align::right},
                {"materialised", Align::right},
                {"ratio", Align::right}});
  Table speed({{"tokens", Align::right},
               {"flash s", Align::right},
               {"materialised s", Align::right},
               {"ratio", Align::right},
               {"GFLOP/s", Align::right},
               {"product GFLOP/s", Align::right},
               {"share", Align::right}});
  nlohmann::ordered_json json = {{"threads", threads},
                                 {"heads", kHeads},
                                 {"kv_heads", kKvHeads},
                                 {"head_dim", kHeadDim},
                                 {"workspace", formula}};
  json["memory"] = memory_rows(backend->profile(), memory);
  json["speed"] = speed_rows(options, *backend, speed);
  if (options.json)
    fmt::print("{}\n", json.dump(2));
  else
    fmt::print(
        "{} query heads on {} of {}, causal, bf16, forward and backward, {} threads\n\n{}{}\n\n"
        "{}share = work of the pairs that the mask leaves / seconds / the product's rate; medians "
        "of {}, in turns. At equal rates the ratio is 12 / 7: the square has six products, tiles "
        "seven of half of it\n",
        kHeads, kKvHeads, kHeadDim, threads, memory.to_string(), formula, speed.to_string(),
        options.repeats);
  return kDone;
}

}  // namespace cairn::program
