// Lists of messages to turns, by LLaMA-Factory's rules: the first may be the system text, the
// others alternate between asking (user, observation) and answering (assistant, function) and end
// with an answer.
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/error.h"
#include "data/python_json.h"
#include "data/row_format.h"
#include "data/utf8.h"

namespace cairn {
namespace {

using json = nlohmann::ordered_json;

constexpr size_t kMostQuoted = 60;  // bytes of a row in a reason

// A string of a message or record; nothing when absent or of another kind.
const std::string* text_of(const json& object, const std::string& key) {
  if (key.empty() || !object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() ? nullptr : found->get_ptr<const std::string*>();
}

FormattedRow skip(std::string reason) { return {{}, std::move(reason)}; }

std::optional<Role> role_of(const std::string& tag, const MessageColumns& columns) {
  if (tag.empty()) return std::nullopt;
  if (tag == columns.user_tag) return Role::user;
  if (tag == columns.assistant_tag) return Role::assistant;
  if (tag == columns.observation_tag) return Role::observation;
  if (tag == columns.function_tag) return Role::function;
  return std::nullopt;
}

// The calls of an openai message, as the content of a turn of calls; nothing when it has none.
std::optional<std::string> calls_of(const json& message) {
  const auto calls = message.find("tool_calls");
  if (calls == message.end() || !calls->is_array() || calls->empty()) return std::nullopt;
  json functions = json::array();
  for (const json& call : *calls)
    functions.push_back(call.is_object() && call.contains("function") ? call["function"] : call);
  return python_json(functions);
}

struct TurnReader {
  const MessageColumns& columns;
  std::vector<Turn> turns = {};
  std::vector<std::string> results = {};  // of several calls, not yet a turn

  // Returns why the message cannot be used, or "".
  std::string add(const json& message) {
    const std::string* tag = text_of(message, columns.role_tag);
    if (tag == nullptr)
      return fmt::format("a message without text in `{}` and `{}`", columns.role_tag,
                         columns.content_tag);
    std::optional<Role> role = role_of(*tag, columns);
    if (!role)
      return fmt::format("the role \"{}\" is not one of the entry's tags",
                         shortened(*tag, kMostQuoted));
    const std::string* content = text_of(message, columns.content_tag);
    std::optional<std::string> calls;
    if (answers(*role) && message.is_object()) calls = calls_of(message);
    if (calls && !columns.openai)
      return "a message with `tool_calls`; the entry needs formatting: openai";
    if (calls) role = Role::function;
    if (!calls && content == nullptr)
      return fmt::format("a message without text in `{}` and `{}`", columns.role_tag,
                         columns.content_tag);
    if (columns.openai && *role == Role::observation) {
      results.push_back(*content);
      return "";
    }
    end_results();
    turns.push_back({*role, calls ? *calls : *content});
    return "";
  }
  // Results that follow each other are one turn.
  void end_results() {
    if (results.empty()) return;
    turns.push_back(
        {Role::observation,
         fmt::format("{}", fmt::join(results, "\n</tool_response>\n<tool_response>\n"))});
    results.clear();
  }
};

}  // namespace

FormattedRow messages_row(const json& record, const MessageColumns& columns, RowUse use) {
  const auto list = record.find(columns.messages);
  if (list == record.end() || !list->is_array())
    return skip(fmt::format("no list of messages in `{}`", columns.messages));
  Conversation conversation;
  if (const std::string* system = text_of(record, columns.system)) conversation.system = *system;
  TurnReader reader{columns};
  bool first = true;
  for (const json& message : *list) {
    const std::string* role = text_of(message, columns.role_tag);
    const std::string* content = text_of(message, columns.content_tag);
    const bool is_first = std::exchange(first, false);
    if (is_first && role != nullptr && !columns.system_tag.empty() && *role == columns.system_tag &&
        content != nullptr) {
      conversation.system = *content;
      continue;
    }
    if (const std::string reason = reader.add(message); !reason.empty()) return skip(reason);
  }
  conversation.turns = std::move(reader.turns);
  conversation.tools = tools_of(record, columns.tools);
  for (size_t i = 0; i < conversation.turns.size(); ++i)
    if (answers(conversation.turns[i].role) != (i % 2 == 1))
      return skip("messages do not alternate between asking and answering");
  if (use == RowUse::document)
    return conversation.turns.empty() ? skip("no message") : FormattedRow{std::move(conversation)};
  if (conversation.turns.empty() || conversation.turns.size() % 2 != 0)
    return skip("messages do not end with an answer");
  return {std::move(conversation), ""};
}

}  // namespace cairn
