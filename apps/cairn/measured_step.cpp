#include "measured_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "base/bytes.h"
#include "base/error.h"
#include "base/random.h"
#include "files/page_file.h"
#include "gemm_probe.h"
#include "median.h"
#include "memory/machine.h"
#include "plan/rehearse.h"
#include "report/accounts.h"
#include "run_in_arena.h"
#include "train/prepare.h"

namespace cairn::program {
namespace {

using Clock = std::chrono::steady_clock;

// What a first step pays for cold caches is nothing beside this, so it counts as one of the
// repeats.
constexpr double kLongStepSeconds = 60;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace

BatchShape parse_shape(const std::string& text) {
  BatchShape shape{};
  char x = 0, rest = 0;
  if (std::sscanf(text.c_str(), "%ld%c%ld%c", &shape.samples, &x, &shape.tokens, &rest) != 3 ||
      x != 'x' || shape.samples < 1 || shape.tokens < 2)
    throw UserError(fmt::format("--shape '{}' is not samples x tokens, such as 8x256", text));
  if (shape.tokens > kMostBatchTokens / shape.samples)
    throw UserError(fmt::format("--shape '{}' is more than the {} tokens that a batch may hold",
                                text, kMostBatchTokens));
  return shape;
}

Batch make_random_batch(const BatchShape& shape, int64_t vocab) {
  const Random random(11);
  std::vector<Example> examples(static_cast<size_t>(shape.samples));
  uint64_t draw = 0;
  for (Example& example : examples)
    for (int64_t t = 0; t < shape.tokens; ++t) {
      example.ids.push_back(
          static_cast<int32_t>(random.below(draw++, static_cast<uint64_t>(vocab))));
      example.labels.push_back(example.ids.back());
    }
  std::vector<const Example*> pointers;
  for (const Example& example : examples) pointers.push_back(&example);
  return make_batch(pointers);
}

TrainSpec make_bench_spec(const ModelConfig& config, const std::string& method, const Batch& batch,
                          const std::vector<std::string>& keys) {
  if (method != "lora" && method != "qlora" && method != "full")
    throw UserError(fmt::format("--method {} is not known; use lora, qlora or full", method));
  std::vector<std::string> all = {
      "model_name_or_path=bench", "bf16=true", "gradient_checkpointing=none",
      method == "full" ? "finetuning_type=full" : "finetuning_type=lora"};
  if (method == "qlora") all.push_back("quantization_bit=4");
  all.insert(all.end(), keys.begin(), keys.end());
  const Recipe recipe = parse_recipe("", RecipeFormat::yaml, all, "the command line");
  if (recipe.memory.checkpointing.is_auto())
    throw UserError(
        "gradient_checkpointing: auto is chosen by the plan; cairn bench checkpointing --budgets "
        "measures it");
  TrainSpec spec = make_train_spec(recipe, config);
  spec.capacity = capacity_of(batch);
  return spec;
}

MeasuredStep measure_step(const TrainSpec& spec, const Batch& batch, int repeats,
                          Backend& backend) {
  const std::vector<Batch> step = {batch};
  const Rehearsal rehearsal = rehearse(spec, 1, backend.profile());
  MeasuredStep measured;
  measured.runtime_bytes = resident_bytes();
  if (rehearsal.arena_bytes() + measured.runtime_bytes > default_budget_bytes())
    throw OutOfBudget(
        fmt::format("{} are needed for this shape", format_bytes(rehearsal.arena_bytes())),
        rehearsal.snapshot, rehearsal.arena_bytes());
  reset_peak_resident();
  PageFile pages(std::filesystem::temp_directory_path());
  Ledger ledger;
  {
    Arena arena(backend.device(), ledger, rehearsal.layout);
    arena.prefault();
    Trainer trainer(backend, arena, spec, &pages);
    trainer.load({});
    const auto first_begin = Clock::now();
    trainer.step(step, 1e-5);  // warms up, and is the worst step
    const double first_seconds = seconds_since(first_begin);
    measured.peak_resident = peak_resident_bytes();
    run_in_arena(backend, [&](const Exec& exec, bool real) {
      GemmProbe probe(exec);
      std::vector<double> rates, seconds;
      if (first_seconds > kLongStepSeconds) {
        seconds.push_back(first_seconds);
        rates.push_back(probe.run());
      }
      while (seconds.size() < static_cast<size_t>(repeats)) {
        rates.push_back(probe.run());
        const auto begin = Clock::now();
        if (real) trainer.step(step, 1e-5);
        seconds.push_back(seconds_since(begin));
        rates.push_back(probe.run());
      }
      measured.gemm_rate = median(rates);
      measured.step_seconds = median(seconds);
    });
  }
  // What a step must compute: recomputation is not useful work.
  TrainSpec plain = spec;
  plain.checkpointing = uniform_policy(Keep::everything, spec.model.config.num_layers);
  measured.useful_flops = rehearse(plain, 1, backend.profile()).step_work.gemm_flops;
  measured.tokens = batch.tokens();
  measured.predicted = rehearsal.snapshot;
  measured.measured = ledger.snapshot();
  measured.arena_bytes = rehearsal.arena_bytes();
  return measured;
}

nlohmann::ordered_json to_json(const MeasuredStep& m) {
  return {{"step_seconds", m.step_seconds},
          {"tokens_per_second", static_cast<double>(m.tokens) / m.step_seconds},
          {"step_gflops", m.rate() / 1e9},
          {"gemm_gflops", m.gemm_rate / 1e9},
          {"share", m.share()},
          {"predicted", to_json(m.predicted)},
          {"measured", to_json(m.measured)},
          {"arena_bytes", m.arena_bytes},
          {"runtime_bytes", m.runtime_bytes},
          {"process_peak_rss_bytes", m.peak_resident}};
}

}  // namespace cairn::program
