// Reads of JSON fields that say what they wanted.
#include "data/json_field.h"

#include <limits>

#include "base/error.h"

namespace cairn {

using nlohmann::json;

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

int32_t id_from(const json& value, std::string_view where) {
  constexpr int64_t kLargest = std::numeric_limits<int32_t>::max() - 1;
  const int64_t id = value.is_number_integer() ? value.get<int64_t>() : -1;
  if (id < 0 || id > kLargest)
    throw DamagedFile(fmt::format("{}: an id should be a whole number from 0 to {}, got {}", where,
                                  kLargest, value.is_discarded() ? "a word" : value.dump()));
  return static_cast<int32_t>(id);
}

}  // namespace cairn
