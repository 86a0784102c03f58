// JSON files of a model's folder: read whole, refused with the place of the mistake, and written as
// transformers writes them.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace cairn {

// `name` stands for the text in errors. Throws DamagedFile: not JSON (line and column), not UTF-8,
// or nested deeper than any real file is.
nlohmann::json parse_json(std::string_view text, const std::string& name);

// Throws UserError when the file is missing, DamagedFile when it is not one JSON object.
nlohmann::json read_json_object(const std::string& path);

// Indented by two, with a newline at the end, atomically.
void write_json(const std::string& path, const nlohmann::json& value);

}  // namespace cairn
