// The steps of a normalizer. Normal forms by utf8proc.
#include "data/normalizer.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "data/json_field.h"
#include "data/regex.h"
#include "data/utf8.h"

namespace cairn {
namespace {

using nlohmann::json;

constexpr const char* kWhere = "tokenizer.json: normalizer";
constexpr const char* kReplace = "Replace";

struct Form {
  const char* type;
  int options;
};
constexpr Form kForms[] = {{"NFC", UTF8PROC_STABLE | UTF8PROC_COMPOSE},
                           {"NFD", UTF8PROC_STABLE | UTF8PROC_DECOMPOSE},
                           {"NFKC", UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT},
                           {"NFKD", UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT}};

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return (c & 0x80) == 0; });
}

std::string to_form(std::string text, int options) {
  if (is_ascii(text)) return text;
  utf8proc_uint8_t* mapped = nullptr;
  const auto bytes = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                  static_cast<utf8proc_ssize_t>(text.size()), &mapped,
                                  static_cast<utf8proc_option_t>(options));
  const std::unique_ptr<utf8proc_uint8_t, void (*)(void*)> owner(mapped, std::free);
  CAIRN_CHECK(bytes >= 0, "[normalizer] wanted valid UTF-8, got {}", utf8proc_errmsg(bytes));
  return {reinterpret_cast<const char*>(mapped), static_cast<size_t>(bytes)};
}

std::string to_lower(const std::string& text) {
  std::string lower;
  for (std::string_view rest = text; !rest.empty();) {
    const CodePoint point = first_code_point(rest);
    append_code_point(
        static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(point.value))), lower);
    rest.remove_prefix(point.bytes);
  }
  return lower;
}

std::string stripped(const std::string& text, bool left, bool right) {
  std::string_view rest = text;
  while (left && !rest.empty() && is_white_space(first_code_point(rest).value))
    rest.remove_prefix(first_code_point(rest).bytes);
  while (right && !rest.empty() && is_white_space(last_code_point(rest).value))
    rest.remove_suffix(last_code_point(rest).bytes);
  return std::string(rest);
}

std::string replaced_literal(const std::string& text, const std::string& literal,
                             const std::string& content) {
  if (literal.empty()) return text;
  std::string result;
  size_t from = 0;
  for (size_t at = text.find(literal); at != text.npos; at = text.find(literal, from)) {
    result.append(text, from, at - from).append(content);
    check_growth(text.size(), result.size(), kReplace);
    from = at + literal.size();
  }
  return result.append(text, from, text.npos);
}

std::string replaced_matches(const std::string& text, const Regex& regex,
                             const std::string& content) {
  std::string result;
  size_t from = 0;
  regex.for_each_match(text, [&](size_t begin, size_t end) {
    result.append(text, from, begin - from).append(content);
    check_growth(text.size(), result.size(), kReplace);
    from = end;
  });
  return result.append(text, from, text.npos);
}

}  // namespace

void check_growth(size_t bytes, size_t grown_bytes, std::string_view part) {
  // The most that a normal form with spaces as U+2581 makes of a byte is 13; a text may be short.
  constexpr size_t kMostGrowth = 16, kMostOfNothing = size_t{64} << 10;
  if (grown_bytes / kMostGrowth > bytes + kMostOfNothing / kMostGrowth)
    throw DamagedFile(fmt::format(
        "tokenizer.json: {} makes {} bytes of a text of {}, more than any real one; is it the "
        "tokenizer.json of a model?",
        part, grown_bytes, bytes));
}

std::function<std::string(std::string)> make_replacement(TextPattern pattern, std::string content) {
  if (pattern.is_regex) {
    auto regex = std::make_shared<Regex>(pattern.text);
    return [regex, content = std::move(content)](const std::string& text) {
      return replaced_matches(text, *regex, content);
    };
  }
  return [literal = std::move(pattern.text), content = std::move(content)](
             const std::string& text) { return replaced_literal(text, literal, content); };
}

Normalizer::Normalizer(const json& description) {
  if (!description.is_null()) add(description);
}

void Normalizer::add(const json& description) {
  const std::string type = string_field(description, "type", "", kWhere);
  if (type == "Sequence") {
    for (const json& part : list_field(description, "normalizers", kWhere)) add(part);
    return;
  }
  for (const Form& form : kForms)
    if (type == form.type) {
      steps_.push_back(
          [options = form.options](std::string text) { return to_form(std::move(text), options); });
      return;
    }
  if (type == "Replace") {
    steps_.push_back(make_replacement(pattern_field(description, kWhere),
                                      string_field(description, "content", "", kWhere)));
  } else if (type == "Prepend") {
    steps_.push_back([prepend = string_field(description, "prepend", "", kWhere)](
                         std::string text) { return text.empty() ? text : prepend + text; });
  } else if (type == "Lowercase") {
    steps_.push_back(to_lower);
  } else if (type == "Strip") {
    steps_.push_back([left = bool_field(description, "strip_left", true, kWhere),
                      right = bool_field(description, "strip_right", true, kWhere)](
                         const std::string& text) { return stripped(text, left, right); });
  } else {
    throw UserError(fmt::format(
        "tokenizer.json asks for the normalizer type \"{}\", which is not built; built are NFC, "
        "NFD, NFKC, NFKD, Replace, Prepend, Lowercase, Strip and a Sequence of them",
        type));
  }
}

std::string Normalizer::normalize(std::string_view text) const {
  std::string normal(text);
  for (const Step& step : steps_) {
    normal = step(std::move(normal));
    check_growth(text.size(), normal.size(), "normalizer");
  }
  return normal;
}

}  // namespace cairn
