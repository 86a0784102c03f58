#include "plan/larger_batches.h"

#include <fmt/format.h>

#include "base/error.h"

namespace cairn {
namespace {

// Below this share of what the plan moves it is worth a change.
constexpr double kWorthwhile = 0.9;

Recipe in_passes(const Plan& plan, int64_t passes) {
  Recipe recipe = plan.recipe;
  recipe.memory.checkpointing = plan.asked_checkpointing;
  TrainRecipe& train = recipe.train;
  train.per_device_train_batch_size *= train.gradient_accumulation_steps / passes;
  train.gradient_accumulation_steps = passes;
  return recipe;
}

}  // namespace

double moved_bytes(const Plan& plan) {
  const Work& work = plan.rehearsal.step_work;
  return work.link_bytes + work.page_bytes;
}

std::optional<LargerBatches> find_larger_batches(
    const Plan& plan, const std::function<Plan(const Recipe&)>& rehearse_again) {
  const int64_t passes = plan.recipe.train.gradient_accumulation_steps;
  if (!plan.fits() || moved_bytes(plan) == 0) return std::nullopt;
  for (int64_t fewer = 1; fewer < passes; ++fewer) {
    if (passes % fewer != 0) continue;
    const Recipe recipe = in_passes(plan, fewer);
    std::optional<Plan> larger;
    try {
      larger = rehearse_again(recipe);
    } catch (const UserError&) {
      // A DeepSpeed JSON that names its batch holds the recipe to it.
      return std::nullopt;
    }
    if (!larger->fits() || moved_bytes(*larger) > kWorthwhile * moved_bytes(plan) ||
        larger->rehearsal.step_seconds > plan.rehearsal.step_seconds)
      continue;
    return LargerBatches{
        fmt::format("per_device_train_batch_size={} gradient_accumulation_steps={}",
                    recipe.train.per_device_train_batch_size, fewer),
        std::move(*larger)};
  }
  return std::nullopt;
}

}  // namespace cairn
