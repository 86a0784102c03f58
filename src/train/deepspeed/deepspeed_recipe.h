// What a DeepSpeed JSON means for a run: the recipe's fields that it sets, and the check that it
// says what the recipe says, by the rules of Hugging Face's Trainer: "auto" takes the recipe's
// value, any other must equal it, and one error lists all that differ.
#pragma once

#include <optional>

#include "train/recipe.h"
#include "train/recipe_source.h"

namespace cairn {

// Reads what the recipe's key names and sets what follows from it: sharding, precision, places. A
// key of Cairn's own that the recipe gives holds. Nothing happens if there is no such key. Throws
// UserError.
void apply_deepspeed(Recipe& recipe, const GivenKeys& keys);

// What a run knows, and a recipe alone does not.
struct RunFacts {
  std::optional<int64_t> world_size;
  std::optional<int64_t> total_steps, warmup_steps;
};
// Throws UserError that lists every disagreement.
void check_deepspeed_agrees(const Recipe& recipe, const RunFacts& facts);

}  // namespace cairn
