// Rows to conversations: the two shapes of a record, and the columns and tags that say which field
// means what. A row that does not fit is answered with the reason, never with an error.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "data/conversation.h"

namespace cairn {

// Columns of an alpaca row: one prompt, one response. Empty where the entry maps none.
struct AlpacaColumns {
  std::string prompt = "instruction";
  std::string query = "input";
  std::string response = "output";
  std::string history;
  std::string system;
};

// Columns and tags of a row that lists its messages, as sharegpt and openai do.
struct MessageColumns {
  std::string messages = "conversations";
  std::string system;
  std::string role_tag = "from";
  std::string content_tag = "value";
  std::string user_tag = "human";
  std::string assistant_tag = "gpt";
  std::string system_tag = "system";
};

struct FormattedRow {
  Conversation conversation;
  std::string skipped;  // why the row cannot be used; empty when it can
};

FormattedRow alpaca_row(const nlohmann::json& record, const AlpacaColumns& columns);
FormattedRow messages_row(const nlohmann::json& record, const MessageColumns& columns);

}  // namespace cairn
