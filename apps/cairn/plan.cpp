// cairn plan: the accounts at the peak, what holds it, fits or not; nothing is loaded.
#include <fmt/format.h>

#include <filesystem>
#include <functional>
#include <optional>

#include "base/error.h"
#include "comm/registry.h"
#include "commands.h"
#include "machine_rates.h"
#include "memory/machine.h"
#include "plan_output.h"
#include "recipe_arguments.h"

namespace cairn::program {
namespace {

struct Options {
  RecipeArguments recipe;
  std::string model, method, target = "cpu";
  std::optional<int64_t> sequence, batch;
  std::optional<int> world_size;
  bool json = false;
};

// Flags say the same as keys, and win over the file.
std::vector<std::string> overrides_of(const Options& options) {
  std::vector<std::string> overrides;
  if (!options.model.empty()) overrides.push_back(as_override("model_name_or_path", options.model));
  if (!options.method.empty()) {
    if (options.method != "lora" && options.method != "qlora" && options.method != "full")
      throw UserError(
          fmt::format("--method {} is not known; use lora, qlora or full", options.method));
    const bool quantised = options.method == "qlora";
    overrides.push_back(quantised ? "quantization_bit=4" : "quantization_bit=null");
    overrides.push_back(as_override("finetuning_type", quantised ? "lora" : options.method));
  }
  if (options.sequence) overrides.push_back(fmt::format("cutoff_len={}", *options.sequence));
  if (options.batch)
    overrides.push_back(fmt::format("per_device_train_batch_size={}", *options.batch));
  if (!options.recipe.names_file()) overrides.push_back("bf16=true");
  return overrides;
}

// Of rank 0; the others' accounts are equal. `tell_of` hears what is odd about the run.
Plan make_plan(const Recipe& recipe, bool with_data, const TargetProfile& profile, World world,
               const std::function<void(const PreparedRun&)>& tell_of = {}) {
  const int64_t budget = budget_of(recipe);
  if (with_data) {
    const PreparedRun run = prepare_run(recipe, world);
    if (tell_of) tell_of(run);
    return plan_run(run, profile, budget, resident_bytes());
  }
  const ModelConfig config = find_model_config(recipe.model.model_name_or_path, recipe.folder);
  return plan_recipe(recipe, config, profile, budget, resident_bytes(), world);
}

int run_plan(const Options& options) {
  if (options.target != "cpu")
    throw UserError(
        fmt::format("--target {} is not known to this version; use cpu", options.target));
  const Recipe recipe = options.recipe.read(overrides_of(options));
  if (recipe.model.model_name_or_path.empty())
    throw UserError(
        "no model is named; give a recipe, or --model FOLDER, FILE.gguf or a known name");
  const std::string path = find_path(recipe.model.model_name_or_path, recipe.folder);
  // With model and data here, the batches of the run itself decide.
  std::error_code ignored;  // a name that no file system takes is nowhere
  const bool with_data = options.model.empty() && std::filesystem::exists(path, ignored) &&
                         !recipe.data.dataset.empty();
  if (!options.model.empty() && !recipe.data.dataset.empty())
    print_remarks(
        {fmt::format("--model plans full batches of cutoff_len tokens; with "
                     "model_name_or_path={} the recipe's data decides",
                     options.model)});
  const TargetProfile profile =
      with_stored_rates(profile_of(recipe.memory.device, static_cast<int>(recipe.memory.threads)));
  // Under mpirun it is the launcher's, and one process answers.
  const World launched = launched_world();
  if (launched.rank > 0) return kDone;
  const World world{0, options.world_size.value_or(launched.size)};
  const Plan plan = make_plan(recipe, with_data, profile, world,
                              [](const PreparedRun& run) { print_remarks(run.remarks); });
  const auto rehearse_again = [&](const Recipe& changed) {
    return make_plan(changed, with_data, profile, world);
  };
  std::optional<Remedy> remedy;
  if (!plan.fits()) remedy = find_remedy(plan, rehearse_again);
  const std::optional<LargerBatches> larger = find_larger_batches(plan, rehearse_again);
  if (options.json)
    fmt::print("{}\n", to_json(plan, remedy, larger).dump(2));
  else
    fmt::print("{}", to_text(plan, remedy, larger));
  return kDone;
}

}  // namespace

Command add_plan(CLI::App& app) {
  auto options = std::make_shared<Options>();
  options->recipe.add_to(app);
  app.add_option("--model", options->model, "a model folder, config.json, GGUF or known name");
  app.add_option("--method", options->method, "lora, qlora or full");
  app.add_option("--seq", options->sequence, "tokens of the longest sample");
  app.add_option("--batch", options->batch, "samples in a batch");
  app.add_option("--world-size", options->world_size, "ranks to plan for, each with the budget")
      ->check(CLI::Range(1, static_cast<int>(kMostRanks)));
  app.add_option("--target", options->target, "the device to plan for");
  app.add_flag("--json", options->json, "one JSON object on stdout");
  return [options] { return run_plan(*options); };
}

}  // namespace cairn::program
