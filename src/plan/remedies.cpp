#include "plan/remedies.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "train/recipe_rules.h"

namespace cairn {
namespace {

using Keys = std::vector<std::string>;  // each "key=value"

// One change of a recipe: the keys that make it, or none where the recipe leaves no room for it.
struct Change {
  std::function<Keys(const Recipe&)> keys_for;
  std::string cost;
};

Keys use_auto_checkpointing(const Recipe& recipe) {
  if (recipe.memory.checkpointing.is_auto()) return {};
  Keys keys;
  for (const std::string& other : checkpointing_switches(recipe.given))
    keys.push_back(other + "=false");
  keys.push_back("gradient_checkpointing=auto");
  return keys;
}

Keys use_flash_attention(const Recipe& recipe) {
  if (recipe.model.flash_attn != FlashAttention::disabled) return {};
  return {is_given(recipe.given, "attn_implementation") ? "attn_implementation=flash_attention_2"
                                                        : "flash_attn=auto"};
}

// The same number of samples a step, in smaller pieces.
Keys use_accumulation(const Recipe& recipe) {
  const TrainRecipe& train = recipe.train;
  if (train.per_device_train_batch_size == 1 || recipe.memory.optimizer_in_backward) return {};
  Keys keys = {"per_device_train_batch_size=1",
               fmt::format("gradient_accumulation_steps={}",
                           train.gradient_accumulation_steps * train.per_device_train_batch_size)};
  const bool evaluates = recipe.data.val_size > 0 || !recipe.data.eval_dataset.empty();
  if (evaluates && train.per_device_eval_batch_size > 1)
    keys.push_back("per_device_eval_batch_size=1");
  return keys;
}

// Not of a batch of very many tiles: what one takes is little of it by then, and each is rehearsed.
Keys use_mlp_tile(int64_t tokens, const Recipe& recipe) {
  constexpr int64_t kMostTiles = 16;
  const int64_t now = recipe.memory.mlp_tile;
  const int64_t all = recipe.train.per_device_train_batch_size * recipe.data.cutoff_len;
  if (all <= tokens || all > kMostTiles * tokens || (now > 0 && now <= tokens)) return {};
  return {fmt::format("mlp_tile={}", tokens)};
}

Keys use_paged_8bit_states(const Recipe& recipe) {
  const OptimizerType optim = recipe.train.optim;
  if (optim == OptimizerType::sgd || optim == OptimizerType::paged_adamw_8bit) return {};
  Keys keys = {"optim=paged_adamw_8bit"};
  if (is_given(recipe.given, "optimizer_place")) keys.push_back("optimizer_place=paged");
  return keys;
}

// Of several ranks each keeps more than it must.
Keys use_stage(int64_t stage, const Recipe& recipe) {
  if (recipe.sharding.stage >= stage) return {};
  return {fmt::format("zero_stage={}", stage)};
}

Keys use_optimizer_in_backward(const Recipe& recipe) {
  if (recipe.memory.optimizer_in_backward || recipe.train.gradient_accumulation_steps > 1)
    return {};
  return {"optimizer_in_backward=true"};
}

Keys use_lora(const Recipe& recipe) {
  if (recipe.method.finetuning_type == FinetuningType::lora) return {};
  return {"finetuning_type=lora"};
}

Keys use_streaming(const Recipe& recipe) {
  if (recipe.method.finetuning_type != FinetuningType::lora ||
      recipe.memory.weights_place == StatePlace::paged)
    return {};
  return {"weights_place=paged"};
}

// From cheap to dear. What the user asked for is kept as long as it can be.
std::vector<Change> changes_for(const Plan& plan) {
  const bool quantised = plan.spec.model.quantisation.has_value();
  const auto quantise = [quantised](const Recipe& recipe) -> Keys {
    if (quantised || recipe.method.finetuning_type != FinetuningType::lora) return {};
    return {"quantization_bit=4"};
  };
  std::vector<Change> changes = {
      {use_auto_checkpointing,
       "blocks are computed again, or their inputs paged, as far as the budget demands"},
      {use_flash_attention, "nothing: attention is exact without its probabilities, and faster"},
      {use_accumulation, "the same step in smaller pieces, a little slower"}};
  const auto add = [&](std::function<Keys(const Recipe&)> keys_for, const char* cost) {
    changes.push_back({std::move(keys_for), cost});
  };
  for (int64_t tokens : {1024, 256})
    add([tokens](const Recipe& recipe) { return use_mlp_tile(tokens, recipe); },
        "MLPs take so many tokens at a time, and compute again what a block would have kept");
  constexpr const char* stages[] = {"each rank keeps its share of the optimizer's states",
                                    "and of the gradients", "and of the weights, sent once more"};
  for (int64_t stage = 1; plan.spec.world.size > 1 && stage <= 3; ++stage)
    add([stage](const Recipe& recipe) { return use_stage(stage, recipe); }, stages[stage - 1]);
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
    changes.push_back(
        {[cutoff](const Recipe&) -> Keys { return {fmt::format("cutoff_len={}", cutoff)}; },
         "longer samples are cut: they lose their end"});
  return changes;
}

class Search {
 public:
  Search(const Plan& plan, const std::function<Plan(const Recipe&)>& rehearse_again)
      : asked_(plan.recipe), changes_(changes_for(plan)), rehearse_again_(rehearse_again) {}

  // Adds changes until the plan fits, then leaves out the dearest that it fits without.
  std::optional<Remedy> find() {
    std::vector<const Change*> taken;
    std::optional<Remedy> found;
    for (const Change& change : changes_) {
      taken.push_back(&change);
      const Attempt attempt = try_out(taken);
      if (attempt == Attempt::refused) taken.pop_back();
      if (attempt == Attempt::fits) break;
    }
    found = std::move(latest_);
    if (!found) return found;
    for (size_t i = taken.size() - 1; i-- > 0;) {
      std::vector<const Change*> fewer = taken;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      if (try_out(fewer) != Attempt::fits) continue;
      taken = std::move(fewer);
      found = std::move(latest_);
    }
    return found;
  }

 private:
  enum class Attempt : uint8_t { fits, too_large, refused };

  // Reads the recipe again with the keys of all changes. What fits is in latest_.
  Attempt try_out(const std::vector<const Change*>& taken) {
    latest_.reset();
    Keys keys;
    std::vector<std::string> costs;
    try {
      Recipe recipe = read_again(asked_, keys);
      for (const Change* change : taken) {
        const Keys more = change->keys_for(recipe);
        if (more.empty() && change == taken.back()) return Attempt::refused;
        if (more.empty()) continue;
        keys.insert(keys.end(), more.begin(), more.end());
        costs.push_back(change->cost);
        recipe = read_again(asked_, keys);
      }
      Plan plan = rehearse_again_(recipe);
      if (!plan.fits()) return Attempt::too_large;
      latest_ = Remedy{fmt::format("{}", fmt::join(keys, " ")),
                       fmt::format("{}", fmt::join(costs, "; ")), std::move(plan)};
      return Attempt::fits;
    } catch (const UserError&) {
      return Attempt::refused;  // two keys that do not go together
    }
  }

  const Recipe& asked_;
  std::vector<Change> changes_;
  const std::function<Plan(const Recipe&)>& rehearse_again_;
  std::optional<Remedy> latest_;
};

}  // namespace

std::optional<Remedy> find_remedy(const Plan& plan,
                                  const std::function<Plan(const Recipe&)>& rehearse_again) {
  return Search(plan, rehearse_again).find();
}

}  // namespace cairn
