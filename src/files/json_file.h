// JSON files of a model's folder: read whole, refused with the place of the mistake, and written as
// transformers writes them.
#pragma once

#include <cstdint>
#include <string>

#include "base/json.h"

namespace cairn {

// Throws UserError when the file is missing, DamagedFile when it is not one JSON object.
nlohmann::json read_json_object(const std::string& path);

// An integer of 64 bits. Throws nlohmann::json::exception for anything else: get would convert a
// fraction or a number beyond them, which is undefined.
int64_t integer_of(const nlohmann::json& value);

// Indented by two, with a newline at the end, atomically.
void write_json(const std::string& path, const nlohmann::json& value);

}  // namespace cairn
