// Calls of functions, in the words of each tool format.
#include <fmt/ranges.h>

#include <algorithm>

#include "data/python_json.h"
#include "data/tool_format.h"
#include "data/utf8.h"

namespace cairn {
namespace {

using json = nlohmann::ordered_json;

// A string as it is, anything else as JSON.
std::string value_text(const json& value) {
  return value.is_string() ? value.get<std::string>() : python_json(value);
}

const json& arguments_object(const FunctionCall& call) {
  if (!call.arguments.is_object())
    throw UnusableRow(
        fmt::format("a call of {} whose arguments are no JSON object", shortened(call.name, 60)));
  return call.arguments;
}

// One element for each argument.
std::string tagged_arguments(const FunctionCall& call, const char* open, const char* between,
                             const char* close) {
  std::string text;
  for (const auto& [key, value] : arguments_object(call).items())
    text += open + key + between + value_text(value) + close;
  return text;
}

std::string gemma4_value(const json& value) {
  if (value.is_string()) return "<|\"|>" + value.get<std::string>() + "<|\"|>";
  std::vector<std::string> parts;
  if (value.is_array()) {
    for (const json& item : value) parts.push_back(gemma4_value(item));
    return fmt::format("[{}]", fmt::join(parts, ","));
  }
  if (!value.is_object()) return python_json(value);
  std::vector<std::string> keys;
  for (const auto& [key, member] : value.items()) keys.push_back(key);
  std::sort(keys.begin(), keys.end());
  for (const std::string& key : keys) parts.push_back(key + ":" + gemma4_value(value[key]));
  return fmt::format("{{{}}}", fmt::join(parts, ","));
}

std::string gemma4_call(const FunctionCall& call) {
  std::string inner =
      call.arguments.is_string() ? call.arguments.get<std::string>() : gemma4_value(call.arguments);
  if (call.arguments.is_object()) inner = inner.substr(1, inner.size() - 2);
  return fmt::format("<|tool_call>call:{}{{{}}}<tool_call|>", call.name, inner);
}

std::string lfm2_call(const FunctionCall& call) {
  std::vector<std::string> parts;
  for (const auto& [key, value] : arguments_object(call).items())
    parts.push_back(value.is_string() ? fmt::format("{}=\"{}\"", key, value.get<std::string>())
                                      : fmt::format("{}={}", key, python_json(value)));
  return fmt::format("{}({})", call.name, fmt::join(parts, ", "));
}

json as_object(const FunctionCall& call, const char* arguments = "arguments") {
  return {{"name", call.name}, {arguments, call.arguments}};
}

std::string call_text(ToolFormat format, const FunctionCall& call) {
  switch (format) {
    case ToolFormat::gemma4:
      return gemma4_call(call);
    case ToolFormat::glm4:
      return call.name + "\n" + python_json(call.arguments);
    case ToolFormat::glm4_moe:
      return "\n<tool_call>" + call.name +
             tagged_arguments(call, "\n<arg_key>", "</arg_key>\n<arg_value>", "</arg_value>");
    case ToolFormat::lfm2:
      return lfm2_call(call);
    case ToolFormat::minimax1:
    case ToolFormat::mistral:
      return python_json(as_object(call));
    case ToolFormat::llama3:
      return python_json(as_object(call, "parameters"));
    case ToolFormat::minimax2:
      return fmt::format("<invoke name=\"{}\">{}\n</invoke>", call.name,
                         tagged_arguments(call, "\n<parameter name=\"", "\">", "</parameter>"));
    case ToolFormat::ling:
    case ToolFormat::qwen:
      return "<tool_call>\n" + python_json(as_object(call)) + "\n</tool_call>";
    case ToolFormat::qwen3_5:
      return fmt::format("<tool_call>\n<function={}>{}\n</function>\n</tool_call>", call.name,
                         tagged_arguments(call, "\n<parameter=", ">\n", "\n</parameter>"));
    case ToolFormat::seed_oss:
      // Without the bracket behind the name, as LLaMA-Factory writes it.
      return fmt::format("\n<seed:tool_call>\n<function={}{}\n</function>\n</seed:tool_call>",
                         call.name, tagged_arguments(call, "\n<parameter=", ">", "</parameter>"));
    case ToolFormat::plain:
    case ToolFormat::phi4_mini:
      break;
  }
  return fmt::format("Action: {}\nAction Input: {}", call.name, python_json(call.arguments));
}

}  // namespace

std::vector<FunctionCall> parse_calls(const std::string& content) {
  json list = parse_shallow(content);
  if (list.is_object()) list = json::array({list});
  if (!list.is_array()) throw UnusableRow("a function call that is not JSON");
  std::vector<FunctionCall> calls;
  for (const json& call : list) {
    if (!call.is_object() || !call.contains("name") || !call["name"].is_string() ||
        !call.contains("arguments"))
      throw UnusableRow("a function call without `name` and `arguments`");
    calls.push_back({call["name"].get<std::string>(), call["arguments"]});
  }
  return calls;
}

std::string calls_text(ToolFormat format, const std::vector<FunctionCall>& calls) {
  if (calls.empty() && format == ToolFormat::glm4)
    throw UnusableRow("a function call that is an empty list");
  if (calls.size() > 1 && format == ToolFormat::glm4)
    throw UnusableRow("several calls at once, which the tool format glm4 cannot say");
  std::vector<std::string> texts;
  for (const FunctionCall& call : calls) texts.push_back(call_text(format, call));
  switch (format) {
    case ToolFormat::gemma4:
      return fmt::format("{}", fmt::join(texts, ""));
    case ToolFormat::lfm2:
      return fmt::format("<|tool_call_start|>[{}]<|tool_call_end|>", fmt::join(texts, ", "));
    case ToolFormat::llama3:
      if (texts.size() == 1) return texts.front();
      [[fallthrough]];
    case ToolFormat::mistral:
      return fmt::format("[{}]", fmt::join(texts, ", "));
    case ToolFormat::minimax1:
      return fmt::format("<tool_calls>\n{}\n</tool_calls>", fmt::join(texts, "\n"));
    default:
      return fmt::format("{}", fmt::join(texts, "\n"));
  }
}

}  // namespace cairn
