// JSON text as Python's json.dumps writes it with ensure_ascii=False: what models were shown of
// tools and calls, and so what their tokens are.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace cairn {

// On one line with ", " and ": " between; with `indent` above 0 on lines, so many spaces deep.
std::string python_json(const nlohmann::ordered_json& value, int indent = 0);

}  // namespace cairn
