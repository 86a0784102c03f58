// Reads of JSON fields that say what they wanted.
#include "data/json_field.h"

#include <charconv>
#include <limits>

#include "base/error.h"
#include "data/utf8.h"

namespace cairn {

using nlohmann::json;

namespace {

constexpr int64_t kLargestId = std::numeric_limits<int32_t>::max() - 1;

[[noreturn]] void refuse_id(std::string_view got, std::string_view where) {
  throw DamagedFile(fmt::format("{}: an id should be a whole number from 0 to {}, got {}", where,
                                kLargestId, got));
}

}  // namespace

const json& field_of(const json& object, const char* key, std::string_view where) {
  static const json kNull;
  if (!object.is_object())
    throw DamagedFile(
        fmt::format("{} should be an object, but is a JSON {}", where, object.type_name()));
  const auto found = object.find(key);
  return found == object.end() ? kNull : *found;
}

bool bool_field(const json& object, const char* key, bool absent, std::string_view where) {
  const json& value = field_of(object, key, where);
  if (value.is_null()) return absent;
  if (!value.is_boolean())
    throw DamagedFile(fmt::format("{}: `{}` should be true or false, but is a JSON {}", where, key,
                                  value.type_name()));
  return value.get<bool>();
}

std::string string_field(const json& object, const char* key, std::string_view absent,
                         std::string_view where) {
  const json& value = field_of(object, key, where);
  if (value.is_null()) return std::string(absent);
  if (!value.is_string())
    throw DamagedFile(fmt::format("{}: `{}` should be a string, but is a JSON {}", where, key,
                                  value.type_name()));
  return value.get<std::string>();
}

std::string character_field(const json& object, const char* key, std::string_view absent,
                            std::string_view where) {
  std::string value = string_field(object, key, absent, where);
  if (value.empty() || first_code_point(value).bytes != value.size())
    throw DamagedFile(fmt::format("{}: `{}` should be one character, but has {} bytes", where, key,
                                  value.size()));
  return value;
}

const json& list_field(const json& object, const char* key, std::string_view where) {
  const json& value = field_of(object, key, where);
  if (!value.is_array())
    throw DamagedFile(
        fmt::format("{}: `{}` should be a list, but is a JSON {}", where, key, value.type_name()));
  return value;
}

TextPattern pattern_field(const json& object, std::string_view where) {
  const json& pattern = field_of(object, "pattern", where);
  for (const char* kind : {"String", "Regex"})
    if (pattern.is_object() && pattern.size() == 1 && pattern.contains(kind) &&
        pattern[kind].is_string())
      return {kind == std::string_view("Regex"), pattern[kind].get<std::string>()};
  throw DamagedFile(fmt::format(
      "{}: `pattern` should be an object with either `String` or `Regex`, and a text in it",
      where));
}

int32_t id_from(const json& value, std::string_view where) {
  const int64_t id = value.is_number_integer() ? value.get<int64_t>() : -1;
  if (id < 0 || id > kLargestId)
    refuse_id(value.is_number() ? value.dump() : fmt::format("a JSON {}", value.type_name()),
              where);
  return static_cast<int32_t>(id);
}

int32_t id_from_key(std::string_view key, std::string_view where) {
  int64_t id = -1;
  const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
  if (error != std::errc() || end != key.data() + key.size() || id < 0 || id > kLargestId)
    refuse_id(fmt::format("\"{}\"", key), where);
  return static_cast<int32_t>(id);
}

}  // namespace cairn
