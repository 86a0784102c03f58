// cairn train: plans, checks the budget before any weight is read, runs, and shows what was
// predicted beside what was measured. A signal ends it after the step under way, with a checkpoint.
#include <fmt/format.h>

#include "backend/registry.h"
#include "base/bytes.h"
#include "base/error.h"
#include "commands.h"
#include "files/atomic_file.h"
#include "machine_rates.h"
#include "memory/machine.h"
#include "plan_output.h"
#include "recipe_arguments.h"
#include "report/accounts.h"
#include "run_reporter.h"
#include "stop_signal.h"
#include "streams.h"

namespace cairn::program {
namespace {

// Not recipe.yaml: that is what users call theirs, which may lie in output_dir.
constexpr const char* kResolvedRecipe = "resolved_recipe.yaml";
constexpr const char* kLedger = "ledger.json";

struct Options {
  RecipeArguments recipe;
};

void check_asked(const Recipe& recipe) {
  if (recipe.model.model_name_or_path.empty())
    throw UserError(
        "the recipe names no model: set model_name_or_path to a folder or a .gguf file");
  if (!recipe.method.do_train)
    throw UserError("the recipe does not ask for training: set do_train: true");
  if (recipe.data.dataset.empty())
    throw UserError(
        "the recipe names no data: set dataset to a name in dataset_info.json or a file");
}

nlohmann::ordered_json ledger_json(const Plan& plan, const Snapshot& measured) {
  nlohmann::ordered_json json;
  json["predicted"] = to_json(plan.rehearsal.snapshot);
  json["measured"] = to_json(measured);
  json["arena_bytes"] = plan.rehearsal.arena_bytes();
  json["fragmentation_bytes"] = plan.rehearsal.fragmentation_bytes();
  json["runtime_bytes"] = plan.runtime_bytes;
  json["process_peak_rss_bytes"] = peak_resident_bytes();
  json["budget_bytes"] = plan.budget_bytes;
  const QuantisedWeights& quantised = plan.rehearsal.quantised;
  if (quantised.elements > 0) json["bytes_per_quantised_weight"] = quantised.bytes_per_weight();
  const StateSummary& states = plan.rehearsal.states;
  if (states.elements_8bit > 0)
    json["bytes_per_8bit_state_parameter"] = states.bytes_per_8bit_parameter();
  return json;
}

// Prints the ledger and the cheapest remedy to stderr.
int refuse(const Plan& plan, const PreparedRun& run, const TargetProfile& profile) {
  const std::optional<Remedy> remedy = find_remedy(plan, [&](const Recipe& changed) {
    return plan_run(prepare_run(changed), profile, plan.budget_bytes, plan.runtime_bytes);
  });
  tell(to_text(plan, remedy));
  tell("cairn: {} does not fit the budget; nothing was loaded\n", run.recipe.output.output_dir);
  return kDoesNotFit;
}

void print_result(const Plan& plan, const Snapshot& measured, const RunSummary& summary,
                  const Recipe& recipe) {
  fmt::print(
      "trained {} steps, {} tokens with labels, in {:.0f} s; mean loss {:.3f} over the "
      "first steps, {:.3f} over the last{}\n",
      summary.steps, summary.trained_tokens, summary.seconds, summary.first_loss, summary.last_loss,
      summary.eval_loss ? fmt::format(", {:.3f} on validation", *summary.eval_loss) : "");
  const int64_t predicted = plan.rehearsal.snapshot.peak_bytes();
  fmt::print("peak: predicted {}, measured {} ({})\n", format_bytes(predicted),
             format_bytes(measured.peak_bytes()),
             predicted == measured.peak_bytes() ? "equal to the byte" : "they differ");
  fmt::print("process: arena {} + runtime {}; peak resident {}\n",
             format_bytes(plan.rehearsal.arena_bytes()), format_bytes(plan.runtime_bytes),
             format_bytes(peak_resident_bytes()));
  fmt::print("wrote {}\n", recipe.output.output_dir);
}

int tell_stop(const RunSummary& summary) {
  if (summary.checkpoint.empty())
    tell("cairn: stopped by a signal before the first step: run the same command again\n");
  else
    tell(
        "cairn: stopped by a signal after step {}: saved {}; the same command with "
        "resume_from_checkpoint={} goes on from there\n",
        summary.steps, summary.checkpoint, summary.checkpoint);
  return kStopped;
}

int run_train(const Options& options) {
  const Recipe recipe = options.recipe.read();
  check_asked(recipe);
  PreparedRun run = prepare_run(recipe);
  print_remarks(run.remarks);
  const std::unique_ptr<FolderLock> lock =
      open_output_folder(run, {kResolvedRecipe, kLedger, kTrainerLog, kLossCurve});
  if (run.resume) print_remarks(run.resume->remarks);
  for (const std::string& path : run.outdated_checkpoints)
    tell("note: {} is of an earlier run, and goes once this run has a checkpoint\n", path);

  const std::unique_ptr<Backend> backend =
      open_backend(recipe.memory.device, static_cast<int>(recipe.memory.threads));
  warm_up(*backend);
  const int64_t budget = budget_of(recipe);
  const TargetProfile profile = with_stored_rates(backend->profile());
  const Plan plan = plan_run(run, profile, budget, resident_bytes());
  if (!plan.fits()) return refuse(plan, run, profile);
  tell(to_text(plan, std::nullopt));
  // What the plan chose is what runs, and what a later run can be asked for.
  run.recipe = plan.recipe;
  run.spec = plan.spec;
  write_text(recipe.output.output_dir + "/" + kResolvedRecipe, to_yaml(plan.recipe));

  Ledger ledger;
  ledger.set_budget(Place::device, budget - plan.runtime_bytes);
  RunReporter reporter(run);
  stop_at_signals();
  RunSummary summary;
  try {
    Arena arena(backend->device(), ledger, plan.rehearsal.layout);
    arena.prefault();
    summary = run_training(run, *backend, arena, reporter);
  } catch (const NotFinite&) {
    reporter.finish();
    tell(accounts_table(ledger.snapshot()));
    throw;
  }
  reporter.finish();
  if (summary.stopped) return tell_stop(summary);
  const Snapshot measured = ledger.snapshot();
  write_text(recipe.output.output_dir + "/" + kLedger, ledger_json(plan, measured).dump(2) + "\n");
  print_result(plan, measured, summary, recipe);
  return kDone;
}

}  // namespace

Command add_train(CLI::App& app) {
  auto options = std::make_shared<Options>();
  options->recipe.add_to(app);
  return [options] { return run_train(*options); };
}

}  // namespace cairn::program
