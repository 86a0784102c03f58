// cairn::train: prepare, plan, run, in the order of the program, with callbacks in the place of
// output.
#include "cairn/train.h"

#include <fmt/format.h>

#include <exception>

#include "backend/registry.h"
#include "base/bytes.h"
#include "base/error.h"
#include "embed/recipe_data.h"
#include "memory/machine.h"
#include "plan/plan.h"
#include "train/engine.h"

namespace cairn {
namespace {

class Watcher : public TrainObserver {
 public:
  explicit Watcher(const TrainCallbacks& callbacks) : callbacks_(callbacks) {}

  void on_loaded(const std::vector<std::string>&) override {}
  void on_step(const StepRecord& record) override {
    if (!callbacks_.on_step) return;
    call([&] {
      callbacks_.on_step({record.step, record.total_steps, record.epoch, record.outcome.loss,
                          record.outcome.gradient_norm, record.learning_rate, record.seconds,
                          record.bytes_in_use, record.eval_loss});
    });
  }
  void on_remark(const std::string& remark) override { remarks_.push_back(remark); }
  bool wants_stop() override {
    bool stop = false;
    if (callbacks_.wants_stop) call([&] { stop = callbacks_.wants_stop(); });
    return stop;
  }

  const std::vector<std::string>& remarks() const { return remarks_; }
  // What a callback threw is its caller's, whatever its type: it is no error of Cairn.
  const std::exception_ptr& thrown() const { return thrown_; }

 private:
  void call(const std::function<void()>& callback) {
    try {
      callback();
    } catch (...) {
      thrown_ = std::current_exception();
      throw;
    }
  }

  const TrainCallbacks& callbacks_;
  std::vector<std::string> remarks_;
  std::exception_ptr thrown_;
};

Plan plan_within_budget(const PreparedRun& run, const Backend& backend) {
  const int64_t budget = run.recipe.memory.memory_budget.value_or(default_budget_bytes());
  Plan plan = plan_run(run, backend.profile(), budget, resident_bytes());
  if (!plan.fits())
    throw OutOfBudget(
        fmt::format("the run needs {} of {}; plan() says which account holds it",
                    format_bytes(plan.needed_bytes()), format_bytes(plan.budget_bytes)),
        plan.rehearsal.snapshot, plan.needed_bytes());
  if (const int64_t machine = default_budget_bytes(); plan.needed_bytes() > machine)
    throw OutOfBudget(
        fmt::format("the run needs {}, which memory_budget allows, but this machine has {} to give "
                    "now; free some, or lower memory_budget for a plan that fits",
                    format_bytes(plan.needed_bytes()), format_bytes(machine)),
        plan.rehearsal.snapshot, plan.needed_bytes());
  return plan;
}

TrainReport train_within_budget(const Recipe& recipe, Watcher& watcher) {
  PreparedRun run = prepare_run(recipe);
  const std::unique_ptr<FolderLock> lock = open_output_folder(run, {});
  const std::unique_ptr<Backend> backend =
      open_backend(recipe.memory.device, static_cast<int>(recipe.memory.threads));
  warm_up(*backend);
  const Plan plan = plan_within_budget(run, *backend);
  run.recipe = plan.recipe;
  run.spec = plan.spec;

  Ledger ledger;
  ledger.set_budget(Place::device, plan.budget_bytes - plan.runtime_bytes);
  RunSummary summary;
  {
    Arena arena(backend->device(), ledger, plan.rehearsal.layout);
    arena.prefault();
    summary = run_training(run, *backend, arena, watcher);
  }
  TrainReport report;
  report.stopped = summary.stopped;
  report.checkpoint = summary.checkpoint;
  report.steps = summary.steps;
  report.seconds = summary.seconds;
  report.first_loss = summary.first_loss;
  report.last_loss = summary.last_loss;
  report.eval_loss = summary.eval_loss;
  report.predicted = peak_of(plan.rehearsal.snapshot);
  report.measured = peak_of(ledger.snapshot());
  report.arena_bytes = plan.rehearsal.arena_bytes();
  report.runtime_bytes = plan.runtime_bytes;
  report.budget_bytes = plan.budget_bytes;
  report.output_dir = recipe.output.output_dir;
  report.remarks = run.remarks;
  if (run.resume)
    report.remarks.insert(report.remarks.end(), run.resume->remarks.begin(),
                          run.resume->remarks.end());
  report.remarks.insert(report.remarks.end(), watcher.remarks().begin(), watcher.remarks().end());
  return report;
}

}  // namespace

TrainReport train(const RunRecipe& recipe, const TrainCallbacks& callbacks) {
  TrainReport report;
  Watcher watcher(callbacks);
  try {
    with_public_errors([&] { report = train_within_budget(recipe.data().recipe(), watcher); });
  } catch (...) {
    if (watcher.thrown()) std::rethrow_exception(watcher.thrown());
    throw;
  }
  return report;
}

}  // namespace cairn
