// One row of the table of recipe keys: a key, its type and default, where it goes, and its
// standing. Adding a key is adding a row; reading, printing, notes and error messages follow from
// it.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "train/recipe.h"
#include "train/recipe_value.h"

namespace cairn {

enum class Standing : uint8_t { honoured, no_effect, refused };
std::string_view name_of(Standing standing);

struct RecipeKey {
  std::string name;
  Standing standing = Standing::honoured;
  std::string subject;   // "model", "method", ...: the section it is printed in
  std::string expected;  // "an integer of at least 1"
  std::string why;       // no effect: why; refused: what to use instead
  // Throws UserError. Called with null, which stands for the default, only if it takes_null.
  std::function<void(Recipe&, const Given&)> read;
  // The resolved value; empty for a key that is another spelling of a printed one.
  std::function<RecipeJson(const Recipe&)> write;
  bool takes_null = false;  // null is a value of its own
  // A value without effect that asks for what happens anyway needs no note.
  std::function<bool(const Given&)> is_quiet = [](const Given&) { return false; };
};

// Every key, by subject, in the order they are printed.
const std::vector<RecipeKey>& recipe_keys();
// Null if there is none.
const RecipeKey* find_recipe_key(std::string_view name);
// The known key with the least edit distance, case aside.
std::string_view nearest_recipe_key(std::string_view name);

// "lora_rank: wanted an integer of at least 1, got 'x' (my.yaml, line 3)"
[[noreturn]] void throw_wrong_value(std::string_view key, std::string_view expected,
                                    const Given& given);
// "stage: 'dpo' is not in this version of Cairn; available: sft; use ... (my.yaml, line 3)";
// without the list if `available` is empty.
[[noreturn]] void throw_not_taken(std::string_view key, const Given& given,
                                  std::string_view available, std::string_view instead);

// A range of a value, and the words that end "an integer of at least 1".
template <typename T>
struct Range {
  std::string words;
  std::function<bool(const T&)> holds = [](const T&) { return true; };
};
template <typename T>
Range<T> at_least(T low) {
  return {fmt::format(" of at least {}", low), [low](const T& value) { return value >= low; }};
}
inline Range<int64_t> between_counts(int64_t low, int64_t high) {
  return {fmt::format(" of at least {} and at most {}", low, high),
          [=](const int64_t& value) { return value >= low && value <= high; }};
}
inline Range<double> above(double low) {
  return {fmt::format(" above {}", low), [low](const double& value) { return value > low; }};
}
// Numbers that arithmetic takes in 32 bits, where a larger one is infinite and a smaller one 0.
inline constexpr double kMostFloat = 3.4e38, kLeastFloat = 1.2e-38;
inline constexpr double kMostBelowOne = 0.9999999;  // a nearer one is 1
// At least 0, or `low`.
inline Range<double> float_at_least(double low) {
  return {fmt::format(" of at least {} and at most {}", low, kMostFloat),
          [low](const double& value) { return value >= low && value <= kMostFloat; }};
}
// From `low` up to `high`, without `high` itself unless `closed`.
inline Range<double> between(double low, double high, bool closed) {
  return {
      fmt::format(" from {} {} {}", low, closed ? "to" : "up to but not including", high),
      [=](const double& value) { return value >= low && (closed ? value <= high : value < high); }};
}

// The words of an enumeration that are known and not taken are refused by name.
template <typename E>
void refuse_not_taken(std::string_view key, const Given& given) {
  if (!given.is_scalar()) return;
  const EnumWords<E>& words = words_of(E{});
  for (std::string_view word : words.not_taken)
    if (given.text == word)
      throw_not_taken(key, given, list_of_taken(words), words.instead_of(word));
}

template <typename T>
struct Unwrapped {
  using type = T;
};
template <typename T>
struct Unwrapped<std::optional<T>> {
  using type = T;
};

// A key that goes into `subject`.`member` as it is.
template <typename Subject, typename T>
RecipeKey honoured(std::string name, Subject Recipe::*subject, T Subject::*member,
                   Range<typename Unwrapped<T>::type> range = {}) {
  using Plain = typename Unwrapped<T>::type;
  RecipeKey key;
  key.name = name;
  key.expected = expected_words<Plain>() + range.words;
  key.read = [=, expected = key.expected](Recipe& recipe, const Given& given) {
    if constexpr (std::is_enum_v<Plain>) refuse_not_taken<Plain>(name, given);
    Plain value{};
    if (!read_value(given, value) || !range.holds(value)) throw_wrong_value(name, expected, given);
    recipe.*subject.*member = std::move(value);
  };
  key.write = [=](const Recipe& recipe) { return written_value(recipe.*subject.*member); };
  return key;
}

// What a key without effect must look like.
enum class ValueKind : uint8_t { boolean, integer, number, text, anything };

bool is_of_kind(const Given& given, ValueKind kind);
// Empty text, a list or a mapping of nothing: it asks for nothing.
bool is_empty(const Given& given);
std::string words_for(ValueKind kind);

// A key without effect. The values in `quiet`, and an empty one, ask for what happens anyway.
RecipeKey no_effect(std::string name, ValueKind kind, std::string why,
                    std::vector<std::string> quiet = {});

// A key that is refused unless its value asks for what happens anyway: `harmless`.
template <typename T>
RecipeKey refused_unless(std::string name, T harmless, std::string instead) {
  RecipeKey key;
  key.name = name;
  key.standing = Standing::refused;
  key.expected = expected_words<T>();
  key.why = instead;
  key.read = [=, expected = key.expected](Recipe&, const Given& given) {
    T value{};
    if (!read_value(given, value)) throw_wrong_value(name, expected, given);
    const std::string harmless_text = fmt::format("{}", harmless);
    if (value != harmless) throw_not_taken(name, given, harmless_text, instead);
  };
  return key;
}
// A key that is refused unless null, empty, or one of the words in `harmless`.
RecipeKey refused(std::string name, std::string instead, std::vector<std::string> harmless = {});

// Another spelling of a key that is printed, true or false: the rules between keys read it.
RecipeKey switch_key(const std::string& name);
// Another spelling of flash_attn.
RecipeKey attn_implementation_key();
// Another of gradient_checkpointing.
RecipeKey activation_checkpointing_key();

// resume_from_checkpoint: true, false, a folder, or null for the automatic rule.
RecipeKey resume_key();

// The words of templates, and how rows are put together.
std::vector<RecipeKey> template_and_mixing_keys();
// Quantisation of frozen weights.
std::vector<RecipeKey> quantisation_keys();

// The tables, one file a subject or standing.
std::vector<RecipeKey> honoured_keys();
std::vector<RecipeKey> memory_keys();    // a part of the honoured ones
std::vector<RecipeKey> sharding_keys();  // another
std::vector<RecipeKey> refused_keys();
std::vector<RecipeKey> no_effect_keys();
// Names of Hugging Face's trainer that LLaMA-Factory's recipes seldom have.
std::vector<RecipeKey> trainer_keys();
// Names that trl's SFTConfig has beside Hugging Face's trainer.
std::vector<RecipeKey> sft_config_keys();
// Keys of other trainers and of tools beside training.
std::vector<RecipeKey> other_keys();

}  // namespace cairn
