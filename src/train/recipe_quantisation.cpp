// Quantisation of the frozen weights, under LLaMA-Factory's names: quantization_bit turns it on,
// the others say how.
#include "train/recipe_key.h"

namespace cairn {
namespace {

// 4 or null.
RecipeKey quantization_bit_key() {
  constexpr std::string_view name = "quantization_bit";
  RecipeKey key;
  key.name = name;
  key.expected = "4";
  key.read = [name](Recipe& recipe, const Given& given) {
    int64_t bits = 0;
    if (!read_value(given, bits) || bits < 1) throw_wrong_value(name, "4", given);
    if (bits != 4)
      throw_not_taken(name, given, "4",
                      "4 bits with double_quantization need 0.52 bytes a weight; leave the key out "
                      "for bf16");
    recipe.model.quantization_bit = bits;
  };
  key.write = [](const Recipe& recipe) { return written_value(recipe.model.quantization_bit); };
  return key;
}

// The word of a format: this version has one, so there is nothing to keep of it.
template <typename E>
RecipeKey format_key(const std::string& name) {
  RecipeKey key;
  key.name = name;
  key.expected = expected_words<E>();
  key.read = [name, expected = key.expected](Recipe&, const Given& given) {
    refuse_not_taken<E>(name, given);
    E format{};
    if (!read_value(given, format)) throw_wrong_value(name, expected, given);
  };
  key.write = [](const Recipe&) { return written_value(E{}); };
  return key;
}

}  // namespace

std::vector<RecipeKey> quantisation_keys() {
  const auto model = &Recipe::model;
  return {quantization_bit_key(), format_key<QuantizationMethod>("quantization_method"),
          format_key<QuantizationType>("quantization_type"),
          honoured("double_quantization", model, &ModelRecipe::double_quantization),
          honoured("llm_int8_skip_modules", model, &ModelRecipe::plain_modules)};
}

}  // namespace cairn
