// The tool formats. Where a format wants more of a row than it holds, the row is unusable.
#include "data/tool_format.h"

#include <fmt/ranges.h>

#include "base/error.h"
#include "base/json.h"
#include "data/nearest_names.h"
#include "data/python_json.h"
#include "data/templates/tool_prompts.h"

namespace cairn {
namespace {

using json = nlohmann::ordered_json;
namespace prompts = tool_prompts;

struct NamedFormat {
  const char* name;
  ToolFormat format;
};
constexpr NamedFormat kFormats[] = {
    {"default", ToolFormat::plain},     {"gemma4", ToolFormat::gemma4},
    {"glm4", ToolFormat::glm4},         {"glm4_moe", ToolFormat::glm4_moe},
    {"lfm2", ToolFormat::lfm2},         {"ling", ToolFormat::ling},
    {"llama3", ToolFormat::llama3},     {"minimax1", ToolFormat::minimax1},
    {"minimax2", ToolFormat::minimax2}, {"mistral", ToolFormat::mistral},
    {"qwen", ToolFormat::qwen},         {"qwen3_5", ToolFormat::qwen3_5},
    {"seed_oss", ToolFormat::seed_oss}};

std::string replaced(std::string text, const std::string& mark, std::string_view value) {
  const size_t at = text.find(mark);
  return at == text.npos ? text : text.replace(at, mark.size(), value);
}

std::string with_tools(const char* prompt, std::string_view tools) {
  return replaced(prompt, "{{tools}}", tools);
}

// A member that a format names; missing or of another kind, the row is unusable.
const json& member(const json& object, const char* key) {
  if (!object.is_object() || !object.contains(key))
    throw UnusableRow(fmt::format("a tool without `{}`", key));
  return object[key];
}
std::string text_of(const json& value) {
  return value.is_string() ? value.get<std::string>() : python_json(value);
}
std::string optional_text(const json& object, const char* key) {
  return object.is_object() && object.contains(key) ? text_of(object[key]) : "";
}
bool holds(const json& object, const char* key) {
  if (!object.is_object() || !object.contains(key)) return false;
  const json& value = object[key];
  return !(value.is_null() || value == "" || value == false || value == 0 ||
           ((value.is_array() || value.is_object()) && value.empty()));
}

bool is_wrapped(const json& tool) {
  return tool.is_object() && tool.contains("type") && tool["type"] == "function";
}
// {"type": "function", "function": {...}}, as OpenAI writes a tool, and the inner part.
json wrapped(const json& tool) {
  return is_wrapped(tool) ? tool : json{{"type", "function"}, {"function", tool}};
}
const json& inner(const json& tool) { return is_wrapped(tool) ? member(tool, "function") : tool; }

std::string plain_parameters(const json& parameters) {
  std::string text;
  const json& properties = member(parameters, "properties");
  for (const auto& [name, parameter] : properties.items()) {
    std::string required, choice, items;
    if (holds(parameters, "required") && parameters["required"].is_array())
      for (const json& one : parameters["required"])
        if (one == name) required = ", required";
    if (holds(parameter, "enum")) {
      std::vector<std::string> values;
      for (const json& value : parameter["enum"]) values.push_back(text_of(value));
      choice = fmt::format(", should be one of [{}]", fmt::join(values, ", "));
    }
    if (holds(parameter, "items"))
      items =
          fmt::format(", where each item should be {}", optional_text(parameter["items"], "type"));
    text += fmt::format("  - {} ({}{}): {}{}{}\n", name, optional_text(parameter, "type"), required,
                        optional_text(parameter, "description"), choice, items);
  }
  return text;
}

std::string plain_tools(const json& tools) {
  std::string text;
  std::vector<std::string> names;
  for (const json& entry : tools) {
    const json& tool = inner(entry);
    names.push_back(text_of(member(tool, "name")));
    text += fmt::format("> Tool Name: {}\nTool Description: {}\nTool Args:\n{}\n", names.back(),
                        optional_text(tool, "description"),
                        plain_parameters(member(tool, "parameters")));
  }
  return replaced(with_tools(prompts::kPlain, text), "{{names}}",
                  fmt::format("{}", fmt::join(names, ", ")));
}

std::string upper(std::string text) {
  for (char& c : text)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return text;
}

std::string gemma4_quoted(const std::string& text) { return "<|\"|>" + text + "<|\"|>"; }

std::string gemma4_properties(const json& properties) {
  std::vector<std::string> parts;
  for (const auto& [name, schema] : properties.items()) {
    std::vector<std::string> items;
    if (holds(schema, "description"))
      items.push_back("description:" + gemma4_quoted(text_of(schema["description"])));
    if (holds(schema, "type"))
      items.push_back("type:" + gemma4_quoted(upper(text_of(schema["type"]))));
    parts.push_back(fmt::format("{}:{{{}}}", name, fmt::join(items, ",")));
  }
  return fmt::format("{}", fmt::join(parts, ","));
}

std::string gemma4_declaration(const json& tool) {
  std::string text = fmt::format("declaration:{}{{description:{}", text_of(member(tool, "name")),
                                 gemma4_quoted(optional_text(tool, "description")));
  if (holds(tool, "parameters")) {
    const json& parameters = tool["parameters"];
    std::vector<std::string> parts;
    if (holds(parameters, "properties"))
      parts.push_back(
          fmt::format("properties:{{{}}}", gemma4_properties(parameters["properties"])));
    if (holds(parameters, "required")) {
      std::vector<std::string> names;
      for (const json& name : parameters["required"]) names.push_back(gemma4_quoted(text_of(name)));
      parts.push_back(fmt::format("required:[{}]", fmt::join(names, ",")));
    }
    if (holds(parameters, "type"))
      parts.push_back("type:" + gemma4_quoted(upper(text_of(parameters["type"]))));
    text += fmt::format(",parameters:{{{}}}", fmt::join(parts, ","));
  }
  if (holds(tool, "response")) {
    const json& response = tool["response"];
    std::vector<std::string> parts;
    if (holds(response, "description"))
      parts.push_back("description:" + gemma4_quoted(text_of(response["description"])));
    if (upper(optional_text(response, "type")) == "OBJECT")
      parts.push_back("type:" + gemma4_quoted("OBJECT"));
    text += fmt::format(",response:{{{}}}", fmt::join(parts, ","));
  }
  return text + "}";
}

std::string gemma4_tools(const json& tools) {
  std::vector<std::string> declarations;
  for (const json& tool : tools) declarations.push_back(gemma4_declaration(inner(tool)));
  return fmt::format("{}", fmt::join(declarations, "\n"));
}

std::string glm4_tools(const json& tools) {
  std::string text;
  for (const json& entry : tools) {
    const json& tool = inner(entry);
    text += fmt::format("\n\n## {}\n\n{}\n在调用上述函数时，请使用 Json 格式表示调用的参数。",
                        text_of(member(tool, "name")), python_json(tool, 4));
  }
  return with_tools(prompts::kGlm4, text);
}

// Each tool on one line, or between two texts.
std::string each(const json& tools, bool wraps, const char* before, const char* after,
                 int indent = 0) {
  std::string text;
  for (const json& tool : tools)
    text += before + python_json(wraps ? wrapped(tool) : inner(tool), indent) + after;
  return text;
}

json all(const json& tools, bool wraps) {
  json list = json::array();
  for (const json& tool : tools) list.push_back(wraps ? wrapped(tool) : inner(tool));
  return list;
}

json parse_tools(const std::string& tools) {
  json list = parse_shallow(tools);
  if (!list.is_array()) throw UnusableRow("its tools are no JSON list");
  return list;
}

}  // namespace

json parse_shallow(const std::string& text) {
  // The parser would end at a byte of zero and drop the rest.
  const JsonExtent extent = measure_json(text);
  if (extent.depth > kDeepestJson || extent.most_members > kMostOrderedMembers ||
      text.find('\0') != text.npos)
    return json(json::value_t::discarded);
  return json::parse(text, nullptr, false);
}

ToolFormat tool_format_from(std::string_view name) {
  std::vector<std::string> names;
  for (const NamedFormat& format : kFormats) {
    if (name == format.name) return format.format;
    names.emplace_back(format.name);
  }
  throw UserError(fmt::format("tool_format \"{}\" is not known; the nearest are {}", name,
                              fmt::join(nearest_names(name, names), ", ")));
}

std::string tools_text(ToolFormat format, const std::string& tools, std::string_view date) {
  if (format == ToolFormat::phi4_mini) return "<|tool|>" + tools + "<|/tool|>";
  const json list = parse_tools(tools);
  if (list.empty()) return "";
  switch (format) {
    case ToolFormat::plain:
    case ToolFormat::phi4_mini:
      return plain_tools(list);
    case ToolFormat::gemma4:
      return gemma4_tools(list);
    case ToolFormat::glm4:
      return glm4_tools(list);
    case ToolFormat::glm4_moe:
      return with_tools(prompts::kGlm4Moe, each(list, true, "\n", ""));
    case ToolFormat::lfm2:
      return with_tools(prompts::kLfm2, python_json(all(list, false)));
    case ToolFormat::ling:
      return with_tools(prompts::kLing, each(list, true, "\n", "")) + "\ndetailed thinking off";
    case ToolFormat::llama3:
      return with_tools(replaced(prompts::kLlama3, "{{date}}", date).c_str(),
                        each(list, true, "", "\n\n", 4));
    case ToolFormat::minimax1:
      return with_tools(prompts::kMinimax1, each(list, false, "", "\n"));
    case ToolFormat::minimax2:
      return with_tools(prompts::kMinimax2, each(list, false, "<tool>", "</tool>\n"));
    case ToolFormat::mistral:
      return "[AVAILABLE_TOOLS] " + python_json(all(list, true)) + "[/AVAILABLE_TOOLS]";
    case ToolFormat::qwen:
      return with_tools(prompts::kQwen, each(list, true, "\n", ""));
    case ToolFormat::qwen3_5:
      return with_tools(prompts::kQwen35, each(list, false, "\n", ""));
    case ToolFormat::seed_oss:
      return with_tools(prompts::kSeed, "\n" + python_json(list));
  }
  return "";
}

}  // namespace cairn
