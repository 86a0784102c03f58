// cairn::plan: the public form of a plan, made as the program makes it.
#include "cairn/plan.h"

#include <filesystem>

#include "backend/registry.h"
#include "embed/recipe_data.h"
#include "memory/machine.h"
#include "plan/plan.h"

namespace cairn {
namespace {

Plan plan_of(const Recipe& recipe) {
  const TargetProfile profile =
      profile_of(recipe.memory.device, static_cast<int>(recipe.memory.threads));
  const int64_t budget = recipe.memory.memory_budget.value_or(default_budget_bytes());
  const std::string path = find_path(recipe.model.model_name_or_path, recipe.folder);
  std::error_code ignored;  // a name that no file system takes is nowhere
  if (std::filesystem::exists(path, ignored) && !recipe.data.dataset.empty())
    return plan_run(prepare_run(recipe), profile, budget, resident_bytes());
  const ModelConfig config = find_model_config(recipe.model.model_name_or_path, recipe.folder);
  return plan_recipe(recipe, config, profile, budget, resident_bytes());
}

}  // namespace

PlanReport plan(const RunRecipe& recipe) {
  PlanReport report;
  with_public_errors([&] {
    const Plan planned = plan_of(recipe.data().recipe());
    report.fits = planned.fits();
    report.budget_bytes = planned.budget_bytes;
    report.arena_bytes = planned.rehearsal.arena_bytes();
    report.runtime_bytes = planned.runtime_bytes;
    report.predicted = peak_of(planned.rehearsal.snapshot);
    report.step_seconds = planned.rehearsal.step_seconds;
    report.tokens_per_second = planned.tokens_per_second();
    report.recipe = to_yaml(planned.recipe);
    report.why = planned.why;
  });
  return report;
}

}  // namespace cairn
