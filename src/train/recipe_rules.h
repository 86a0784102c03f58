// What concerns two keys at once: values that follow from others, contradictions, and keys that
// other keys leave without effect.
#pragma once

#include "train/recipe.h"
#include "train/recipe_source.h"

namespace cairn {

// The value other than null that the recipe gives a key; null if there is none.
const Given* find_given(const GivenKeys& keys, std::string_view name);
bool is_given(const GivenKeys& keys, std::string_view name);
// Whether it gives true.
bool is_on(const GivenKeys& keys, std::string_view name);

// Fills what follows from other keys: lora_alpha, data_seed, eval_steps, bf16 under pure_bf16.
void resolve_recipe(Recipe& recipe, const GivenKeys& keys);
// The one policy that all keys for checkpointing come to. With a budget and no word of any key, the
// plan chooses.
void resolve_checkpointing(Recipe& recipe, const GivenKeys& keys);
// The switches for it that are on: gradient_checkpointing=... holds only without them.
std::vector<std::string> checkpointing_switches(const GivenKeys& keys);
// Whether a key of the recipe asks for a policy.
bool asks_for_checkpointing(const GivenKeys& keys);

// Throws UserError for keys that contradict each other, or a required one that is missing.
void check_recipe(const Recipe& recipe, const GivenKeys& keys);
void check_checkpointing(const GivenKeys& keys);
// Adds notes for given keys that other keys override.
void note_overridden_keys(Recipe& recipe, const GivenKeys& keys);

}  // namespace cairn
