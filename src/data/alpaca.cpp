// Alpaca rows to turns, by LLaMA-Factory's rules.
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "data/python_json.h"
#include "data/row_format.h"

namespace cairn {
namespace {

using json = nlohmann::ordered_json;

// The text of a column: nothing when it is not mapped, absent or null.
const json* value_of(const json& record, const std::string& column) {
  if (column.empty()) return nullptr;
  const auto found = record.find(column);
  return found == record.end() || found->is_null() ? nullptr : &*found;
}

FormattedRow skip(std::string reason) { return {{}, std::move(reason)}; }

bool add_history(const json& history, std::vector<Turn>& turns) {
  if (!history.is_array()) return false;
  for (const json& pair : history) {
    if (!pair.is_array() || pair.size() != 2 || !pair[0].is_string() || !pair[1].is_string())
      return false;
    turns.push_back({Role::user, pair[0].get<std::string>()});
    turns.push_back({Role::assistant, pair[1].get<std::string>()});
  }
  return true;
}

// Appends the text of the prompt's columns; returns why it cannot, or "".
std::string add_prompt(const json& record, const AlpacaColumns& columns, std::vector<Turn>& turns) {
  std::string prompt;
  for (const std::string& column : {columns.prompt, columns.query}) {
    const json* value = value_of(record, column);
    if (value == nullptr) continue;
    if (!value->is_string()) return fmt::format("`{}` is not a string", column);
    const auto& text = value->get_ref<const std::string&>();
    if (text.empty()) continue;
    if (!prompt.empty()) prompt += '\n';
    prompt += text;
  }
  turns.push_back({Role::user, std::move(prompt)});
  return "";
}

}  // namespace

std::string tools_of(const json& record, const std::string& column) {
  const json* tools = value_of(record, column);
  if (tools == nullptr) return "";
  return tools->is_string() ? tools->get<std::string>() : python_json(*tools);
}

FormattedRow alpaca_row(const json& record, const AlpacaColumns& columns, RowUse use) {
  Conversation conversation;
  if (const json* history = value_of(record, columns.history))
    if (!add_history(*history, conversation.turns))
      return skip(fmt::format("`{}` is not a list of [prompt, response] pairs", columns.history));

  // An empty prompt is allowed, but a row without the columns is of another shape.
  if (!record.contains(columns.prompt) && !record.contains(columns.query))
    return skip(columns.prompt.empty() && columns.query.empty()
                    ? "no column is mapped to the prompt"
                    : fmt::format("no column `{}` or `{}`", columns.prompt, columns.query));
  if (const std::string reason = add_prompt(record, columns, conversation.turns); !reason.empty())
    return skip(reason);
  if (use == RowUse::document) return {std::move(conversation), ""};

  const json* response = value_of(record, columns.response);
  if (response == nullptr || !response->is_string())
    return skip(columns.response.empty() ? "no column is mapped to the response"
                                         : fmt::format("no text in `{}`", columns.response));
  conversation.turns.push_back({Role::assistant, response->get<std::string>()});

  if (const json* system = value_of(record, columns.system)) {
    if (!system->is_string()) return skip(fmt::format("`{}` is not a string", columns.system));
    conversation.system = system->get<std::string>();
  }
  conversation.tools = tools_of(record, columns.tools);
  return {std::move(conversation), ""};
}

FormattedRow undescribed_row(const json& record, RowUse use) {
  if (use == RowUse::document && record.contains("text"))
    return alpaca_row(record, {.prompt = "text", .query = "", .response = ""}, use);
  if (record.contains("messages"))
    return messages_row(record,
                        {.messages = "messages",
                         .tools = "tools",
                         .role_tag = "role",
                         .content_tag = "content",
                         .user_tag = "user",
                         .assistant_tag = "assistant",
                         .observation_tag = "tool",
                         .function_tag = "function",
                         .openai = true},
                        use);
  if (record.contains("conversations"))
    return messages_row(record, {.system = "system", .tools = "tools"}, use);
  return alpaca_row(record, {}, use);
}

}  // namespace cairn
