// Tool formats: the text by which a template tells a model of the functions it may call, and the
// text of its calls. Each is LLaMA-Factory's, to the byte.
#pragma once

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "data/templates/template_row.h"

namespace cairn {

// A row that cannot be written in the template's words: the reason that it is skipped for.
struct UnusableRow : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct FunctionCall {
  std::string name;
  nlohmann::ordered_json arguments;
};

// The value of a JSON text; discarded when it is none, nests too deep, or has an object of more
// than kMostOrderedMembers.
nlohmann::ordered_json parse_shallow(const std::string& text);

// By LLaMA-Factory's names ("default" is plain). Throws UserError for a name that is not known.
ToolFormat tool_format_from(std::string_view name);

// Of the tools of a row, a JSON list; "" when it is empty. `date` is the one that llama3 names.
// Throws UnusableRow for what is no such list.
std::string tools_text(ToolFormat format, const std::string& tools, std::string_view date);

// Of the content of a turn of calls: one JSON object {"name", "arguments"} or a list of them.
std::vector<FunctionCall> parse_calls(const std::string& content);
std::string calls_text(ToolFormat format, const std::vector<FunctionCall>& calls);

}  // namespace cairn
