#include "plan/remedies.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "base/error.h"

namespace cairn {
namespace {

// One change of a recipe. `apply` makes it and returns the keys that say so, or nothing where the
// recipe leaves no room for it.
struct Change {
  std::function<std::string(Recipe&)> apply;
  std::string cost;
};

std::string use_auto_checkpointing(Recipe& recipe) {
  if (recipe.memory.checkpointing.is_auto()) return {};
  recipe.memory.checkpointing = *parse_policy("auto");
  return "gradient_checkpointing=auto";
}

std::string use_flash_attention(Recipe& recipe) {
  if (recipe.model.flash_attn != FlashAttention::disabled) return {};
  recipe.model.flash_attn = FlashAttention::automatic;
  return "flash_attn=auto";
}

// The same number of samples a step, in smaller pieces.
std::string use_accumulation(Recipe& recipe) {
  TrainRecipe& train = recipe.train;
  if (train.per_device_train_batch_size == 1 || recipe.memory.optimizer_in_backward) return {};
  train.gradient_accumulation_steps *= train.per_device_train_batch_size;
  train.per_device_train_batch_size = 1;
  train.per_device_eval_batch_size = 1;
  return fmt::format("per_device_train_batch_size=1 gradient_accumulation_steps={}",
                     train.gradient_accumulation_steps);
}

std::string use_paged_8bit_states(Recipe& recipe) {
  OptimizerType& optim = recipe.train.optim;
  if (optim == OptimizerType::sgd || optim == OptimizerType::paged_adamw_8bit) return {};
  optim = OptimizerType::paged_adamw_8bit;
  recipe.memory.optimizer_place = StatePlace::paged;
  return "optim=paged_adamw_8bit";
}

// Of several ranks each keeps more than it must.
std::string use_stage(int64_t stage, Recipe& recipe) {
  if (recipe.sharding.stage >= stage) return {};
  recipe.sharding.stage = stage;
  return fmt::format("zero_stage={}", stage);
}

std::string use_optimizer_in_backward(Recipe& recipe) {
  if (recipe.memory.optimizer_in_backward || recipe.train.gradient_accumulation_steps > 1)
    return {};
  recipe.memory.optimizer_in_backward = true;
  return "optimizer_in_backward=true";
}

std::string use_lora(Recipe& recipe) {
  if (recipe.method.finetuning_type == FinetuningType::lora) return {};
  recipe.method.finetuning_type = FinetuningType::lora;
  return "finetuning_type=lora";
}

std::string use_streaming(Recipe& recipe) {
  if (recipe.method.finetuning_type != FinetuningType::lora ||
      recipe.memory.weights_place == StatePlace::paged)
    return {};
  recipe.memory.weights_place = StatePlace::paged;
  return "weights_place=paged";
}

// From cheap to dear. What the user asked for is kept as long as it can be.
std::vector<Change> changes_for(const Plan& plan) {
  const bool quantised = plan.spec.model.quantisation.has_value();
  const auto quantise = [quantised](Recipe& recipe) -> std::string {
    if (quantised || recipe.method.finetuning_type != FinetuningType::lora) return {};
    recipe.model.quantization_bit = 4;
    return "quantization_bit=4";
  };
  std::vector<Change> changes = {
      {use_auto_checkpointing,
       "blocks are computed again, or their inputs paged, as far as the budget demands"},
      {use_flash_attention, "nothing: attention is exact without its probabilities, and faster"},
      {use_accumulation, "the same step in smaller pieces, a little slower"}};
  const auto add = [&](std::function<std::string(Recipe&)> apply, const char* cost) {
    changes.push_back({std::move(apply), cost});
  };
  constexpr const char* stages[] = {"each rank keeps its share of the optimizer's states",
                                    "and of the gradients", "and of the weights, sent once more"};
  for (int64_t stage = 1; plan.spec.world.size > 1 && stage <= 3; ++stage)
    add([stage](Recipe& recipe) { return use_stage(stage, recipe); }, stages[stage - 1]);
  add(use_paged_8bit_states, "moments in 8-bit blocks that pass through memory once a step");
  if (plan.spec.world.size == 1)
    add(use_optimizer_in_backward,
        "with max_grad_norm, a pass of its own for the norm of all gradients");
  changes.insert(
      changes.end(),
      {{use_lora, "a low-rank adapter is trained in place of every weight"},
       {quantise, "frozen weights are rounded to 4 bits (QLoRA)"},
       {use_streaming, "frozen weights are read from the page file twice a step, or more"}});
  for (int64_t cutoff = plan.recipe.data.cutoff_len / 2; cutoff >= 256; cutoff /= 2)
    changes.push_back({[cutoff](Recipe& recipe) {
                         recipe.data.cutoff_len = cutoff;
                         return fmt::format("cutoff_len={}", cutoff);
                       },
                       "longer samples are cut: they lose their end"});
  return changes;
}

class Search {
 public:
  Search(const Plan& plan, const std::function<Plan(const Recipe&)>& rehearse_again)
      : asked_(plan.recipe), changes_(changes_for(plan)), rehearse_again_(rehearse_again) {
    asked_.memory.checkpointing = plan.asked_checkpointing;
  }

  // Adds changes until the plan fits, then leaves out the dearest that it fits without.
  std::optional<Remedy> find() {
    std::vector<size_t> taken;
    std::optional<Remedy> found;
    for (size_t i = 0; i < changes_.size() && !found; ++i) {
      taken.push_back(i);
      found = attempt(taken);
    }
    if (!found) return found;
    for (size_t i = taken.size() - 1; i-- > 0;) {
      std::vector<size_t> fewer = taken;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      if (std::optional<Remedy> leaner = attempt(fewer)) {
        taken = std::move(fewer);
        found = std::move(leaner);
      }
    }
    return found;
  }

 private:
  // Nothing if the plan does not fit, or the last change has nothing to change.
  std::optional<Remedy> attempt(const std::vector<size_t>& taken) const {
    Recipe recipe = asked_;
    std::vector<std::string> keys, costs;
    std::string latest;
    for (size_t i : taken) {
      latest = changes_[i].apply(recipe);
      if (latest.empty()) continue;
      keys.push_back(latest);
      costs.push_back(changes_[i].cost);
    }
    if (latest.empty()) return std::nullopt;
    std::optional<Plan> plan;
    try {
      plan = rehearse_again_(recipe);
    } catch (const UserError&) {
      return std::nullopt;  // two keys that do not go together
    }
    if (!plan->fits()) return std::nullopt;
    return Remedy{fmt::format("{}", fmt::join(keys, " ")),
                  fmt::format("{}", fmt::join(costs, "; ")), std::move(*plan)};
  }

  Recipe asked_;
  std::vector<Change> changes_;
  const std::function<Plan(const Recipe&)>& rehearse_again_;
};

}  // namespace

std::optional<Remedy> find_remedy(const Plan& plan,
                                  const std::function<Plan(const Recipe&)>& rehearse_again) {
  return Search(plan, rehearse_again).find();
}

}  // namespace cairn
