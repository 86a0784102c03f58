#include "plan/remedies.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace cairn {
namespace {

struct Candidate {
  Recipe recipe;
  std::string keys;
  std::string cost;
};

Candidate with_checkpointing(Recipe recipe) {
  recipe.memory.checkpointing = *parse_policy("auto");
  return {std::move(recipe), "gradient_checkpointing=auto",
          "blocks are computed again, or their inputs paged, as far as the budget demands"};
}

// The same number of samples a step, in smaller pieces.
Candidate with_accumulation(Recipe recipe) {
  TrainRecipe& train = recipe.train;
  train.gradient_accumulation_steps *= train.per_device_train_batch_size;
  train.per_device_train_batch_size = 1;
  train.per_device_eval_batch_size = 1;
  std::string keys = fmt::format("per_device_train_batch_size=1 gradient_accumulation_steps={}",
                                 train.gradient_accumulation_steps);
  return {std::move(recipe), std::move(keys), "the same step in smaller pieces, a little slower"};
}

Candidate with_lora(Recipe recipe) {
  recipe.method.finetuning_type = FinetuningType::lora;
  return {std::move(recipe), "finetuning_type=lora",
          "a low-rank adapter is trained in place of every weight"};
}

Candidate with_cutoff(Recipe recipe, int64_t cutoff) {
  recipe.data.cutoff_len = cutoff;
  return {std::move(recipe), fmt::format("cutoff_len={}", cutoff),
          "longer samples are cut: they lose their end"};
}

// From cheap to dear; each builds on what the one before it kept.
std::vector<Candidate> candidates_of(const Recipe& recipe) {
  std::vector<Candidate> list;
  Recipe base = recipe;
  std::string keys;
  const auto add = [&](Candidate candidate) {
    keys += (keys.empty() ? "" : " ") + candidate.keys;
    candidate.keys = keys;
    base = candidate.recipe;
    list.push_back(std::move(candidate));
  };
  if (!base.memory.checkpointing.is_auto()) add(with_checkpointing(base));
  if (base.train.per_device_train_batch_size > 1) add(with_accumulation(base));
  if (base.method.finetuning_type == FinetuningType::full) add(with_lora(base));
  const Recipe whole = base;
  const std::string whole_keys = keys;
  for (int64_t cutoff = recipe.data.cutoff_len / 2; cutoff >= 256; cutoff /= 2) {
    base = whole;
    keys = whole_keys;
    add(with_cutoff(base, cutoff));
  }
  return list;
}

}  // namespace

std::optional<Remedy> find_remedy(const Plan& plan,
                                  const std::function<Plan(const Recipe&)>& rehearse_again) {
  Recipe asked = plan.recipe;
  asked.memory.checkpointing = plan.asked_checkpointing;
  for (Candidate& candidate : candidates_of(asked)) {
    Plan again = rehearse_again(candidate.recipe);
    if (again.fits())
      return Remedy{std::move(candidate.keys), std::move(candidate.cost), std::move(again)};
  }
  return std::nullopt;
}

}  // namespace cairn
