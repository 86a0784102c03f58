// Typed reads of one field of a JSON object, where null and absent mean the default. A field of the
// wrong kind is named in the error; `where` says whose field it is ("tokenizer.json: model").
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace cairn {

// The field, or null when it is absent. Throws DamagedFile when `object` is no object.
const nlohmann::json& field_of(const nlohmann::json& object, const char* key,
                               std::string_view where);

bool bool_field(const nlohmann::json& object, const char* key, bool absent, std::string_view where);
std::string string_field(const nlohmann::json& object, const char* key, std::string_view absent,
                         std::string_view where);
// A string of one character.
std::string character_field(const nlohmann::json& object, const char* key, std::string_view absent,
                            std::string_view where);
// A list, which must be there.
const nlohmann::json& list_field(const nlohmann::json& object, const char* key,
                                 std::string_view where);

// The `pattern` of a step: {"String": text} or {"Regex": text}, and nothing else.
struct TextPattern {
  bool is_regex = false;
  std::string text;
};
TextPattern pattern_field(const nlohmann::json& object, std::string_view where);

// An id of a token: 0 .. 2^31 - 2.
int32_t id_from(const nlohmann::json& value, std::string_view where);
// The same, written as the key of an object.
int32_t id_from_key(std::string_view key, std::string_view where);

}  // namespace cairn
