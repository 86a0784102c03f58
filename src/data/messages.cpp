// Lists of messages to turns, by LLaMA-Factory's rules: the first may be the system text, the
// others alternate between user and assistant and end with the assistant.
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "data/row_format.h"

namespace cairn {
namespace {

using nlohmann::json;

// A string of a message or record; nothing when absent or of another kind.
const std::string* text_of(const json& object, const std::string& key) {
  if (key.empty() || !object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() ? nullptr : found->get_ptr<const std::string*>();
}

FormattedRow skip(std::string reason) { return {{}, std::move(reason)}; }

}  // namespace

FormattedRow messages_row(const json& record, const MessageColumns& columns) {
  const auto list = record.find(columns.messages);
  if (list == record.end() || !list->is_array())
    return skip(fmt::format("no list of messages in `{}`", columns.messages));
  Conversation conversation;
  if (const std::string* system = text_of(record, columns.system)) conversation.system = *system;
  bool first = true;
  for (const json& message : *list) {
    const std::string* role = text_of(message, columns.role_tag);
    const std::string* content = text_of(message, columns.content_tag);
    if (role == nullptr || content == nullptr || message.contains("tool_calls"))
      return skip(fmt::format("a message without text in `{}` and `{}`, or with tool calls",
                              columns.role_tag, columns.content_tag));
    const bool is_first = std::exchange(first, false);
    if (is_first && *role == columns.system_tag) {
      conversation.system = *content;
      continue;
    }
    const bool user_is_next = conversation.turns.size() % 2 == 0;
    if (*role != (user_is_next ? columns.user_tag : columns.assistant_tag))
      return skip("messages do not alternate between user and assistant, or call tools");
    conversation.turns.push_back({user_is_next ? Role::user : Role::assistant, *content});
  }
  if (conversation.turns.empty() || conversation.turns.size() % 2 != 0)
    return skip("messages do not end with an answer");
  return {std::move(conversation), ""};
}

}  // namespace cairn
