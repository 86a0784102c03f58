// cairn train: plans, checks the budget before any weight is read, runs, and shows what was
// predicted beside what was measured. A signal ends it after the step under way, with a checkpoint.
#include <fmt/format.h>

#include <algorithm>

#include "backend/registry.h"
#include "base/bytes.h"
#include "base/error.h"
#include "comm/registry.h"
#include "commands.h"
#include "files/atomic_file.h"
#include "machine_rates.h"
#include "memory/machine.h"
#include "plan_output.h"
#include "ranks.h"
#include "recipe_arguments.h"
#include "report/accounts.h"
#include "room.h"
#include "run_reporter.h"
#include "stop_signal.h"
#include "streams.h"
#include "train/rank_agreement.h"

namespace cairn::program {
namespace {

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

// Of this rank; `peaks` of all ranks if there are several.
nlohmann::ordered_json ledger_json(const Plan& plan, const Snapshot& measured,
                                   const std::vector<double>& peaks) {
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
  if (peaks.size() == 1) return json;
  json["rank"] = plan.spec.world.rank;
  for (const double peak : peaks) json["peak_bytes_of_ranks"].push_back(static_cast<int64_t>(peak));
  return json;
}

// Rank 0's has the name that one process gives it.
std::string ledger_name(int rank) {
  return rank == 0 ? kLedger : fmt::format("ledger.rank{}.json", rank);
}

// All ranks of this machine share its cores, unless the launcher has parted them already.
int threads_of(const Recipe& recipe) {
  const auto asked = static_cast<int>(recipe.memory.threads);
  if (asked > 0 || launched_ranks_here() == 1) return asked;
  const int usable = cpu_profile(0).threads;
  return usable < installed_cores() ? usable : std::max(1, usable / launched_ranks_here());
}

// Ranks that would wait for different transfers fail before the first of them.
void check_schedules(const Plan& plan, const PreparedRun& run, Communicator& ranks) {
  const uint64_t hash = plan.rehearsal.schedule_hash ^
                        static_cast<uint64_t>(run.sampler->steps()) * 0x9e3779b97f4a7c15 ^
                        static_cast<uint64_t>(run.spec.capacity.tokens) << 20;
  // A double holds half of it.
  const std::vector<double> upper = ranks.exchange(static_cast<double>(hash >> 32));
  const std::vector<double> lower = ranks.exchange(static_cast<double>(hash & 0xffffffff));
  for (size_t rank = 1; rank < upper.size(); ++rank)
    if (upper[rank] != upper[0] || lower[rank] != lower[0])
      throw CommError(
          fmt::format("rank {} has planned other transfers than rank 0; give every rank the same "
                      "recipe, model, data and program",
                      rank));
}

// Found now, and not when the first checkpoint is due.
void check_shares_folder(const std::string& output_dir) {
  if (FolderLock::was_held(output_dir)) return;
  throw UserError(
      fmt::format("{} is not the output_dir that rank 0 holds: give all ranks one folder, on a "
                  "file system that they share",
                  output_dir));
}

// Ranks but the first say nothing.
class SilentObserver : public TrainObserver {
 public:
  void on_loaded(const std::vector<std::string>&) override {}
  void on_step(const StepRecord&) override {}
  bool wants_stop() override { return stop_was_asked(); }
};

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

void tell_stop(const RunSummary& summary) {
  if (summary.checkpoint.empty())
    tell("cairn: stopped by a signal before the first step: run the same command again\n");
  else
    tell(
        "cairn: stopped by a signal after step {}: saved {}; the same command with "
        "resume_from_checkpoint={} goes on from there\n",
        summary.steps, summary.checkpoint, summary.checkpoint);
}

// Rank 0 alone prints, holds the folder and writes what is not a rank's own.
int train_on(const Recipe& recipe, Communicator& ranks) {
  const bool leads = ranks.rank() == 0;
  PreparedRun run = prepare_run(recipe, ranks.world());
  std::unique_ptr<FolderLock> lock;
  if (leads) {
    print_remarks(run.remarks);
    lock = open_output_folder(run, {kResolvedRecipe, kLedger, kTrainerLog, kLossCurve});
    if (run.resume) print_remarks(run.resume->remarks);
    for (const std::string& path : run.outdated_checkpoints)
      tell("note: {} is {}, and goes once this run has a checkpoint\n", path,
           run.resume ? "past the step that this run goes on from" : "of an earlier run");
  }
  // The folder is held and tidied: now all ranks find the same checkpoint in it.
  ranks.barrier();
  if (!leads) {
    check_shares_folder(recipe.output.output_dir);
    choose_resume_point(run);
  }
  check_ranks_agree(run, ranks);
  const std::unique_ptr<Backend> backend = open_backend(recipe.memory.device, threads_of(recipe));
  warm_up(*backend);
  const TargetProfile profile = with_stored_rates(backend->profile());
  const Room room = agree_on_room(recipe, ranks);
  const Plan plan = plan_run(run, profile, room.budget, room.runtime);
  check_schedules(plan, run, ranks);
  if (!has_room(plan, room)) {
    if (leads) refuse(plan, room, run, profile);
    ranks.barrier();
    return kDoesNotFit;
  }
  // What the plan chose is what runs, and what a later run can be asked for.
  run.recipe = plan.recipe;
  run.spec = plan.spec;
  std::unique_ptr<RunReporter> reporter;
  if (leads) {
    tell(to_text(plan, std::nullopt));
    reporter = std::make_unique<RunReporter>(run);
  }
  stop_at_signals(leads);
  Ledger ledger;
  ledger.set_budget(Place::device, room.budget - plan.runtime_bytes);
  RunSummary summary;
  try {
    SilentObserver silent;
    Arena arena(backend->device(), ledger, plan.rehearsal.layout);
    arena.prefault();
    summary = run_training(run, *backend, arena,
                           leads ? static_cast<TrainObserver&>(*reporter) : silent, &ranks);
  } catch (const NotFinite&) {
    if (leads) {
      reporter->finish();
      tell(accounts_table(ledger.snapshot()));
    }
    throw;
  }
  if (summary.stopped) {
    if (leads) {
      reporter->finish();
      tell_stop(summary);
    }
    // The launcher ends the others when the first one ends.
    ranks.barrier();
    return kStopped;
  }
  const Snapshot measured = ledger.snapshot();
  const std::vector<double> peaks = ranks.exchange(static_cast<double>(measured.peak_bytes()));
  // Of another machine, it may not be there.
  if (!leads) make_folder(recipe.output.output_dir);
  write_text(recipe.output.output_dir + "/" + ledger_name(ranks.rank()),
             ledger_json(plan, measured, peaks).dump(2) + "\n");
  if (!leads) return kDone;
  reporter->finish();
  print_result(plan, measured, summary, recipe);
  return kDone;
}

int run_train(const Options& options) {
  Recipe recipe;
  return run_on_ranks(
      [&] {
        recipe = options.recipe.read();
        check_asked(recipe);
        return recipe.sharding.timeout_seconds;
      },
      [&](Communicator& ranks) { return train_on(recipe, ranks); });
}

}  // namespace

Command add_train(CLI::App& app) {
  auto options = std::make_shared<Options>();
  options->recipe.add_to(app);
  return [options] { return run_train(*options); };
}

}  // namespace cairn::program
