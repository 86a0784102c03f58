// Reading scalars from text without a locale, so that a recipe means the same on every machine.
#include "train/recipe_value.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>

namespace cairn {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The text without a leading plus and without underscores between digits, which YAML 1.1 allows.
std::string plain_number(const std::string& text) {
  std::string plain;
  for (size_t i = text.starts_with('+') ? 1 : 0; i < text.size(); ++i) {
    const bool between_digits =
        i > 0 && i + 1 < text.size() && is_digit(text[i - 1]) && is_digit(text[i + 1]);
    if (text[i] != '_' || !between_digits) plain += text[i];
  }
  return plain;
}

template <typename Number>
bool read_number(const Given& given, Number& value) {
  if (!given.is_scalar()) return false;
  const std::string text = plain_number(given.text);
  const auto [rest, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  return status == std::errc() && rest == text.data() + text.size();
}

// YAML 1.1 takes a word in lower case, with a capital, or in capitals.
bool is_word(const std::string& text, std::string_view word) {
  std::string capital(word), capitals(word);
  capital[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(word[0])));
  for (char& c : capitals) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text == word || text == capital || text == capitals;
}

std::string trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\n");
  if (begin == std::string_view::npos) return "";
  return std::string(text.substr(begin, text.find_last_not_of(" \t\n") - begin + 1));
}

bool add_names(const Given& given, std::vector<std::string>& names) {
  if (!given.is_scalar()) return false;
  size_t begin = 0;
  while (begin <= given.text.size()) {
    const size_t comma = std::min(given.text.find(',', begin), given.text.size());
    names.push_back(trimmed(std::string_view(given.text).substr(begin, comma - begin)));
    if (names.back().empty()) return false;
    begin = comma + 1;
  }
  return true;
}

}  // namespace

bool read_value(const Given& given, bool& value) {
  if (!given.is_scalar()) return false;
  constexpr std::array<std::string_view, 4> yes = {"true", "yes", "on", "1"};
  constexpr std::array<std::string_view, 4> no = {"false", "no", "off", "0"};
  const auto among = [&](const auto& words) {
    return std::any_of(words.begin(), words.end(),
                       [&](std::string_view word) { return is_word(given.text, word); });
  };
  value = among(yes);
  return value || among(no);
}

bool read_value(const Given& given, int64_t& value) { return read_number(given, value); }

bool read_value(const Given& given, double& value) {
  return read_number(given, value) && std::isfinite(value);
}

bool read_value(const Given& given, std::string& value) {
  value = given.text;
  return given.is_scalar();
}

bool read_value(const Given& given, std::vector<std::string>& value) {
  value.clear();
  if (given.kind != Given::Kind::sequence) return add_names(given, value);
  return std::all_of(given.items.begin(), given.items.end(),
                     [&](const Given& item) { return add_names(item, value); });
}

RecipeJson written_value(const std::string& value) {
  return value.empty() ? RecipeJson() : RecipeJson(value);
}

RecipeJson written_value(const std::vector<std::string>& value) {
  return value.empty() ? RecipeJson() : RecipeJson(fmt::format("{}", fmt::join(value, ",")));
}

}  // namespace cairn
