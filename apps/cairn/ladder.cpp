// cairn ladder: what each memory tool adds, from a bare baseline up: rehearsed as a table and a
// picture, and with --run measured, each rung in its own process.
#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"
#include "base/error.h"
#include "commands.h"
#include "ladder_measure.h"
#include "ladder_output.h"
#include "machine_rates.h"
#include "memory/machine.h"
#include "picture.h"
#include "plan/plan.h"
#include "recipe_arguments.h"
#include "streams.h"

namespace cairn::program {

LadderInput read_ladder_input(const LadderOptions& options) {
  const bool quantised = options.method == "qlora";
  if (!quantised && options.method != "lora" && options.method != "full")
    throw UserError(
        fmt::format("--method {} is not known; use lora, qlora or full", options.method));
  std::vector<std::string> keys = {
      as_override("model_name_or_path", options.model),
      "finetuning_type=" + (quantised ? std::string("lora") : options.method),
      fmt::format("cutoff_len={}", options.sequence),
      fmt::format("per_device_train_batch_size={}", options.batch), "bf16=true"};
  if (quantised) keys.push_back("quantization_bit=4");
  if (options.budget) keys.push_back(as_override("memory_budget", *options.budget));
  const Recipe recipe = parse_recipe("", RecipeFormat::yaml, keys, "the command line");
  LadderInput input;
  input.spec = make_train_spec(recipe, find_model_config(options.model, "."));
  // Half: batches of 8 instruction samples were seen 44 % filled (docs/toolbox/packing.md).
  input.shape = {
      .sequence = options.sequence,
      .batch = options.batch,
      .mean_sample = options.mean_sample.value_or(std::max<int64_t>(2, options.sequence / 2))};
  input.profile = with_stored_rates(cpu_profile(options.threads));
  input.budget_bytes = budget_of(recipe);
  return input;
}

namespace {

// Rungs that fit the budget, and this machine.
MeasuredRungs measure_all(const LadderOptions& options, const Ladder& ladder) {
  MeasuredRungs measured(ladder.rungs.size());
  for (size_t i = 0; i < ladder.rungs.size(); ++i) {
    const Rung& rung = ladder.rungs[i];
    if (!ladder.fits(rung)) continue;
    if (ladder.needed_bytes(rung) > default_budget_bytes()) {
      tell("note: {} is not run: it needs {}, and this machine has {} now\n", rung.name,
           format_bytes(ladder.needed_bytes(rung)), format_bytes(default_budget_bytes()));
      continue;
    }
    tell("running {}\n", rung.name);
    measured[i] = measure_rung_apart(options, i);
  }
  return measured;
}

int run_ladder(const LadderOptions& options) {
  if (options.rung) return measure_rung_here(options);
  const LadderInput input = read_ladder_input(options);
  const Ladder ladder =
      rehearse_ladder(input.spec, input.shape, input.profile, input.budget_bytes, resident_bytes());
  MeasuredRungs measured(ladder.rungs.size());
  // Written before the rungs run too: a path that cannot be written is known at once.
  if (!options.svg.empty()) write_picture(options.svg, to_svg(options, ladder, measured));
  if (options.run) {
    measured = measure_all(options, ladder);
    if (!options.svg.empty()) write_picture(options.svg, to_svg(options, ladder, measured));
  }
  if (options.json)
    fmt::print("{}\n", to_json(options, ladder, input.profile, measured).dump(2));
  else
    fmt::print("{}", to_text(options, ladder, input.profile, measured));
  return kDone;
}

}  // namespace

Command add_ladder(CLI::App& app) {
  auto options = std::make_shared<LadderOptions>();
  app.add_option("--model", options->model, "a model folder, config.json, GGUF or known name")
      ->required();
  app.add_option("--method", options->method, "lora, qlora or full");
  app.add_option("--seq", options->sequence, "tokens of a row");
  app.add_option("--batch", options->batch, "rows in a batch");
  app.add_option("--mean", options->mean_sample, "tokens of a sample in the mean; half of --seq");
  app.add_option("--budget", options->budget, "memory the process may hold in all, such as 24GiB");
  app.add_option("--svg", options->svg, "write the picture to this file");
  app.add_flag("--run", options->run, "measure every rung that fits, with random weights");
  app.add_option("--repeats", options->repeats, "timed steps of a rung; the median counts")
      ->check(CLI::Range(1, 1000));
  app.add_option("--threads", options->threads, "0: all cores");
  app.add_flag("--json", options->json, "one JSON object on stdout");
  app.add_option("--rung", options->rung)->group("")->check(CLI::Range(0, 3));
  return [options] { return run_ladder(*options); };
}

}  // namespace cairn::program
