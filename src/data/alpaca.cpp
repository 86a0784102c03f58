// Alpaca rows to turns, by LLaMA-Factory's rules.
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "data/row_format.h"

namespace cairn {
namespace {

using nlohmann::json;

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

}  // namespace

FormattedRow alpaca_row(const json& record, const AlpacaColumns& columns) {
  Conversation conversation;
  if (const json* history = value_of(record, columns.history))
    if (!add_history(*history, conversation.turns))
      return skip(fmt::format("`{}` is not a list of [prompt, response] pairs", columns.history));

  // An empty prompt is allowed, but a row without the columns is of another shape.
  if (!record.contains(columns.prompt) && !record.contains(columns.query))
    return skip(columns.prompt.empty() && columns.query.empty()
                    ? "no column is mapped to the prompt"
                    : fmt::format("no column `{}` or `{}`", columns.prompt, columns.query));
  std::string prompt;
  for (const std::string& column : {columns.prompt, columns.query}) {
    const json* value = value_of(record, column);
    if (value == nullptr) continue;
    if (!value->is_string()) return skip(fmt::format("`{}` is not a string", column));
    const auto& text = value->get_ref<const std::string&>();
    if (text.empty()) continue;
    if (!prompt.empty()) prompt += '\n';
    prompt += text;
  }
  conversation.turns.push_back({Role::user, std::move(prompt)});

  const json* response = value_of(record, columns.response);
  if (response == nullptr || !response->is_string())
    return skip(columns.response.empty() ? "no column is mapped to the response"
                                         : fmt::format("no text in `{}`", columns.response));
  conversation.turns.push_back({Role::assistant, response->get<std::string>()});

  if (const json* system = value_of(record, columns.system)) {
    if (!system->is_string()) return skip(fmt::format("`{}` is not a string", columns.system));
    conversation.system = system->get<std::string>();
  }
  return {std::move(conversation), ""};
}

}  // namespace cairn
