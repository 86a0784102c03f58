// How one value of a recipe is read and written, per type: `read_value` says whether the text is of
// the type, `expected_words` what an error asks for, `written_value` what the printed recipe shows.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "train/recipe_source.h"
#include "train/recipe_words.h"

namespace cairn {

using RecipeJson = nlohmann::ordered_json;

bool read_value(const Given& given, bool& value);     // as YAML 1.1: true, yes, on, 1 and so on
bool read_value(const Given& given, int64_t& value);  // underscores between digits are allowed
bool read_value(const Given& given, double& value);   // finite
bool read_value(const Given& given, std::string& value);
// A list, or names with commas between; no name may be empty.
bool read_value(const Given& given, std::vector<std::string>& value);

template <typename E>
requires std::is_enum_v<E>
bool read_value(const Given& given, E& value) {
  if (!given.is_scalar()) return false;
  for (const auto& [word, taken] : words_of(E{}).taken)
    if (given.text == word) {
      value = taken;
      return true;
    }
  return false;
}

template <typename T>
bool read_value(const Given& given, std::optional<T>& value) {
  return read_value(given, value.emplace());
}

template <typename T>
std::string expected_words() {
  if constexpr (std::is_same_v<T, bool>)
    return "true or false";
  else if constexpr (std::is_same_v<T, int64_t>)
    return "an integer";
  else if constexpr (std::is_same_v<T, double>)
    return "a number";
  else if constexpr (std::is_same_v<T, std::string>)
    return "text";
  else if constexpr (std::is_same_v<T, std::vector<std::string>>)
    return "names with commas between them";
  else if constexpr (std::is_enum_v<T>)
    return "one of " + list_of_taken(words_of(T{}));
  else
    return expected_words<typename T::value_type>();
}

template <typename T>
RecipeJson written_value(const T& value) {
  if constexpr (std::is_enum_v<T>)
    return std::string(name_of(value));
  else
    return value;
}
// Empty text and an empty list are the absence of a value.
RecipeJson written_value(const std::string& value);
RecipeJson written_value(const std::vector<std::string>& value);
template <typename T>
RecipeJson written_value(const std::optional<T>& value) {
  return value ? written_value(*value) : RecipeJson();
}

}  // namespace cairn
