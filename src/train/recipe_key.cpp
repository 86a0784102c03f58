// The table of keys as a whole: joining its parts, finding a row, and the sentences of its errors.
#include "train/recipe_key.h"

#include <algorithm>

#include "data/nearest_names.h"

namespace cairn {
namespace {

bool is_among(const std::vector<std::string>& words, const Given& given) {
  return given.is_scalar() && std::find(words.begin(), words.end(), given.text) != words.end();
}

template <typename T>
bool is_of_type(const Given& given) {
  T value{};
  return read_value(given, value);
}

std::vector<RecipeKey> joined_tables() {
  std::vector<RecipeKey> keys = honoured_keys();
  for (auto* table : {refused_keys, no_effect_keys, trainer_keys, sft_config_keys, other_keys})
    for (RecipeKey& key : table()) keys.push_back(std::move(key));
  for (size_t i = 0; i < keys.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      CAIRN_CHECK(keys[i].name != keys[j].name, "[recipe] wanted one row for {}, got two",
                  keys[i].name);
  return keys;
}

}  // namespace

bool is_of_kind(const Given& given, ValueKind kind) {
  switch (kind) {
    case ValueKind::boolean:
      return is_of_type<bool>(given);
    case ValueKind::integer:
      return is_of_type<int64_t>(given);
    case ValueKind::number:
      return is_of_type<double>(given);
    case ValueKind::text:
      return given.is_scalar();
    case ValueKind::anything:
      break;
  }
  return true;
}

bool is_empty(const Given& given) {
  return given.text.empty() && given.items.empty() && given.members.empty();
}

std::string words_for(ValueKind kind) {
  switch (kind) {
    case ValueKind::boolean:
      return expected_words<bool>();
    case ValueKind::integer:
      return expected_words<int64_t>();
    case ValueKind::number:
      return expected_words<double>();
    case ValueKind::text:
      return expected_words<std::string>();
    case ValueKind::anything:
      break;
  }
  return "any value";
}

std::string_view name_of(Standing standing) {
  switch (standing) {
    case Standing::honoured:
      return "honoured";
    case Standing::no_effect:
      return "no effect";
    case Standing::refused:
      break;
  }
  return "refused";
}

const std::vector<RecipeKey>& recipe_keys() {
  static const std::vector<RecipeKey> keys = joined_tables();
  return keys;
}

const RecipeKey* find_recipe_key(std::string_view name) {
  for (const RecipeKey& key : recipe_keys())
    if (key.name == name) return &key;
  return nullptr;
}

std::string_view nearest_recipe_key(std::string_view name) {
  std::vector<std::string> names;
  for (const RecipeKey& key : recipe_keys()) names.push_back(key.name);
  return find_recipe_key(nearest_names(name, names, 1).front())->name;
}

void throw_wrong_value(std::string_view key, std::string_view expected, const Given& given) {
  throw UserError(
      fmt::format("{}: wanted {}, got {}{}", key, expected, shown(given), shown_place(given)));
}

void throw_not_taken(std::string_view key, const Given& given, std::string_view available,
                     std::string_view instead) {
  const std::string list = available.empty() ? "" : fmt::format(" available: {};", available);
  throw UserError(fmt::format("{}: {} is not in this version of Cairn;{} {}{}", key, shown(given),
                              list, instead, shown_place(given)));
}

RecipeKey no_effect(std::string name, ValueKind kind, std::string why,
                    std::vector<std::string> quiet) {
  RecipeKey key;
  key.name = name;
  key.standing = Standing::no_effect;
  key.expected = words_for(kind);
  key.why = std::move(why);
  key.read = [=, expected = key.expected](Recipe&, const Given& given) {
    if (!is_of_kind(given, kind)) throw_wrong_value(name, expected, given);
  };
  key.is_quiet = [quiet = std::move(quiet)](const Given& given) {
    return is_empty(given) || is_among(quiet, given);
  };
  return key;
}

RecipeKey refused(std::string name, std::string instead, std::vector<std::string> harmless) {
  RecipeKey key;
  key.name = name;
  key.standing = Standing::refused;
  key.expected = "null";
  key.why = instead;
  key.read = [=](Recipe&, const Given& given) {
    if (!is_empty(given) && !is_among(harmless, given)) throw_not_taken(name, given, "", instead);
  };
  return key;
}

}  // namespace cairn
