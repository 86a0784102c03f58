// cairn bench: what this machine does, beside the limit it is held to, interleaved in one run.
#include "bench.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/error.h"

namespace cairn::program {
namespace {

struct Measurement {
  std::string_view name;
  int (*run)(const BenchOptions&);
};
constexpr std::array kMeasurements = {
    Measurement{"gemm", bench_gemm},       Measurement{"attention", bench_attention},
    Measurement{"step", bench_step},       Measurement{"checkpointing", bench_checkpointing},
    Measurement{"packing", bench_packing}, Measurement{"optimizer", bench_optimizer},
    Measurement{"nf4", bench_nf4},         Measurement{"sharding", bench_sharding}};

int run_bench(const std::string& what, const BenchOptions& options) {
  std::vector<std::string_view> names;
  for (const Measurement& measurement : kMeasurements) {
    if (measurement.name == what) {
      if (!options.keys.empty() && what != "step" && what != "sharding")
        throw UserError(fmt::format("bench {} takes no keys of a recipe; leave '{}' out", what,
                                    options.keys.front()));
      return measurement.run(options);
    }
    names.push_back(measurement.name);
  }
  throw UserError(
      fmt::format("there is no measurement '{}'; choose among {}", what, fmt::join(names, ", ")));
}

}  // namespace

CheckpointPolicy policy_of(const BenchOptions& options, int64_t num_blocks) {
  const auto policy = parse_policy(options.checkpointing);
  if (!policy || policy->is_auto() || policy->uses(PolicyKind::offload))
    throw UserError("--checkpointing takes none, block, every:K, sqrt, nested or selective");
  return make_policy(*policy, num_blocks);
}

Command add_bench(CLI::App& app) {
  auto options = std::make_shared<BenchOptions>();
  auto what = std::make_shared<std::string>();
  app.add_option("what", *what,
                 "gemm, attention, step, checkpointing, packing, optimizer, nf4 or sharding")
      ->required();
  app.add_option("keys", options->keys, "step, sharding: key=value, as after a recipe");
  app.add_option("--model", options->model,
                 "step, checkpointing: a known name or a config.json; packing: a folder or GGUF "
                 "with a tokenizer; "
                 "random weights");
  app.add_option("--method", options->methods, "step, checkpointing: lora, qlora, full")
      ->delimiter(',');
  app.add_option("--shape", options->shapes, "step, checkpointing: samples x tokens, such as 8x256")
      ->delimiter(',');
  app.add_option("--checkpointing", options->checkpointing,
                 "step, packing: a policy such as block");
  app.add_option("--policies", options->policies, "checkpointing: policies to compare")
      ->delimiter(',');
  app.add_option("--budgets", options->budgets, "checkpointing: budgets that the plan chooses for")
      ->check(CLI::Range(0, 100));
  app.add_flag("--rehearse", options->rehearse, "checkpointing: measure nothing");
  app.add_option("--tokens", options->tokens, "attention, nf4: lengths of the timed sequences")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 17));
  app.add_option("--data", options->data, "packing: a data set, .json or .jsonl");
  app.add_option("--template", options->chat_template, "packing: of the samples");
  app.add_option("--seq", options->sequence, "packing: tokens of a row")
      ->check(CLI::Range(2, 1 << 20));
  app.add_flag("--only-flash", options->only_flash, "attention: time the tiled one alone");
  app.add_option("--threads", options->threads, "0: all cores");
  app.add_option("--repeats", options->repeats, "runs of each; the median counts")
      ->check(CLI::Range(1, 1000));
  app.add_option("--ranks", options->ranks, "sharding: ranks of one process")
      ->check(CLI::Range(2, 64));
  app.add_flag("--json", options->json, "one JSON object on stdout");
  return [options, what] { return run_bench(*what, *options); };
}

}  // namespace cairn::program
