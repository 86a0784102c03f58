#include "plan/plan.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/error.h"
#include "model/known_models.h"

namespace cairn {
namespace {

void explain(Plan& plan) {
  const auto& accounts = plan.rehearsal.snapshot.accounts_at_peak();
  const auto largest =
      static_cast<size_t>(std::max_element(accounts.begin(), accounts.end()) - accounts.begin());
  plan.why.push_back(
      fmt::format("the peak is in phase '{}'; its largest account is {}, {}",
                  name_of(plan.rehearsal.snapshot.peak_phase[static_cast<size_t>(Place::device)]),
                  name_of(kAccounts[largest]), format_bytes(accounts[largest])));
  plan.why.push_back(plan.spec.checkpointing.every_block == Keep::input
                         ? "gradient checkpointing keeps one input per block and computes the rest "
                           "again"
                         : "gradient checkpointing is off: every block keeps what its backward "
                           "needs");
  if (!plan.fits())
    plan.why.push_back(fmt::format(
        "{} are needed, {} more than the budget of {}", format_bytes(plan.needed_bytes()),
        format_bytes(plan.needed_bytes() - plan.budget_bytes), format_bytes(plan.budget_bytes)));
}

Plan make_plan(const Recipe& recipe, const TrainSpec& spec, const TargetProfile& profile,
               int64_t budget_bytes, int64_t runtime_bytes) {
  Plan plan;
  plan.recipe = recipe;
  plan.spec = spec;
  plan.budget_bytes = budget_bytes;
  plan.runtime_bytes = runtime_bytes;
  const int64_t accumulation = recipe.train.gradient_accumulation_steps;
  plan.rehearsal = rehearse(spec, accumulation, profile);
  plan.tokens_per_step = accumulation * spec.capacity.tokens;
  explain(plan);
  return plan;
}

}  // namespace

ModelConfig find_model_config(const std::string& name, const std::filesystem::path& recipe_folder) {
  const std::string path = find_path(name, recipe_folder);
  if (std::filesystem::exists(path)) return parse_model_config(read_config(path));
  if (const auto known = find_known_model(name)) return *known;
  throw UserError(fmt::format(
      "'{}' is neither a model folder, a config.json or a GGUF file here, nor a known name; known "
      "names are {}",
      name, fmt::join(known_model_names(), ", ")));
}

Plan plan_run(const PreparedRun& run, const TargetProfile& profile, int64_t budget_bytes,
              int64_t runtime_bytes) {
  return make_plan(run.recipe, run.spec, profile, budget_bytes, runtime_bytes);
}

Plan plan_recipe(const Recipe& recipe, const ModelConfig& config, const TargetProfile& profile,
                 int64_t budget_bytes, int64_t runtime_bytes) {
  TrainSpec spec = make_train_spec(recipe, config);
  if (recipe.data.val_size > 0 || !recipe.data.eval_dataset.empty())
    spec.eval_capacity =
        make_full_capacity(recipe.train.per_device_eval_batch_size, recipe.data.cutoff_len);
  return make_plan(recipe, spec, profile, budget_bytes, runtime_bytes);
}

}  // namespace cairn
