#include "plan/larger_batches.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "base/error.h"

namespace cairn {
namespace {

// Below this share of what the plan moves it is worth a change.
constexpr double kWorthwhile = 0.9;

std::vector<std::string> keys_for_passes(const TrainRecipe& train, int64_t passes) {
  const int64_t samples = train.per_device_train_batch_size * train.gradient_accumulation_steps;
  return {fmt::format("per_device_train_batch_size={}", samples / passes),
          fmt::format("gradient_accumulation_steps={}", passes)};
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
    const std::vector<std::string> keys = keys_for_passes(plan.recipe.train, fewer);
    std::optional<Plan> larger;
    try {
      larger = rehearse_again(read_again(plan.recipe, keys));
    } catch (const UserError&) {
      // More tokens than a batch may hold, or a DeepSpeed JSON that names its batch.
      continue;
    }
    if (!larger->fits() || moved_bytes(*larger) > kWorthwhile * moved_bytes(plan) ||
        larger->rehearsal.step_seconds > plan.rehearsal.step_seconds)
      continue;
    return LargerBatches{fmt::format("{}", fmt::join(keys, " ")), std::move(*larger)};
  }
  return std::nullopt;
}

}  // namespace cairn
