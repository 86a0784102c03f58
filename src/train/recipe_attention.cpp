// attn_implementation: Hugging Face's name of flash_attn, with its own words.
#include "train/recipe_key.h"

namespace cairn {

RecipeKey attn_implementation_key() {
  constexpr std::string_view name = "attn_implementation";
  static const std::vector<std::pair<std::string_view, FlashAttention>> words = {
      {"flash_attention_2", FlashAttention::fa2},
      {"flash_attention_3", FlashAttention::fa3},
      {"sdpa", FlashAttention::sdpa},
      {"eager", FlashAttention::disabled}};
  RecipeKey key;
  key.name = name;
  key.expected = "one of flash_attention_2, flash_attention_3, sdpa, eager";
  key.read = [name, expected = key.expected](Recipe& recipe, const Given& given) {
    for (const auto& [word, attention] : words)
      if (given.is_scalar() && given.text == word) {
        recipe.model.flash_attn = attention;
        return;
      }
    throw_wrong_value(name, expected, given);
  };
  return key;
}

}  // namespace cairn
