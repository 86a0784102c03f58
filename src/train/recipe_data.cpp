// The keys that say how rows become tokens: the words of templates, the mixing of data sets, and
// where tokens are kept.
#include "train/recipe_key.h"

namespace cairn {
namespace {

constexpr int64_t kMostRowsAtATime = int64_t{1} << 40;

// true, false, or null, which gives an empty thought as false does and takes none out.
RecipeKey enable_thinking_key() {
  constexpr std::string_view name = "enable_thinking";
  RecipeKey key;
  key.name = name;
  key.expected = "true, false or null";
  key.takes_null = true;
  key.read = [name, expected = key.expected](Recipe& recipe, const Given& given) {
    recipe.data.enable_thinking.reset();
    bool on = false;
    if (given.is_null()) return;
    if (!read_value(given, on)) throw_wrong_value(name, expected, given);
    recipe.data.enable_thinking = on;
  };
  key.write = [](const Recipe& recipe) {
    return recipe.data.enable_thinking ? RecipeJson(*recipe.data.enable_thinking) : RecipeJson();
  };
  return key;
}

// Shares that make up one, as a list or with commas between.
RecipeKey interleave_probs_key() {
  constexpr std::string_view name = "interleave_probs";
  RecipeKey key;
  key.name = name;
  key.expected = "shares above 0 that add up to 1, with commas between them";
  key.read = [name, expected = key.expected](Recipe& recipe, const Given& given) {
    std::vector<std::string> texts;
    if (!read_value(given, texts)) throw_wrong_value(name, expected, given);
    recipe.data.interleave_probs.clear();
    double sum = 0;
    for (const std::string& text : texts) {
      double share = 0;
      if (!read_value(Given{Given::Kind::scalar, text, {}, {}, ""}, share) || !(share > 0))
        throw_wrong_value(name, expected, given);
      recipe.data.interleave_probs.push_back(share);
      sum += share;
    }
    if (sum < 1 - 1e-6 || sum > 1 + 1e-6) throw_wrong_value(name, expected, given);
  };
  key.write = [](const Recipe& recipe) {
    return recipe.data.interleave_probs.empty() ? RecipeJson()
                                                : RecipeJson(recipe.data.interleave_probs);
  };
  return key;
}

}  // namespace

std::vector<RecipeKey> template_and_mixing_keys() {
  const auto data = &Recipe::data;
  return {honoured("mix_strategy", data, &DataRecipe::mix_strategy),
          interleave_probs_key(),
          enable_thinking_key(),
          honoured("preserve_thinking", data, &DataRecipe::preserve_thinking),
          honoured("tool_format", data, &DataRecipe::tool_format),
          honoured("tokenized_path", data, &DataRecipe::tokenized_path),
          honoured("overwrite_cache", data, &DataRecipe::overwrite_cache),
          honoured("preprocessing_batch_size", data, &DataRecipe::preprocessing_batch_size,
                   between_counts(1, kMostRowsAtATime))};
}

}  // namespace cairn
