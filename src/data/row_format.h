// Rows to conversations: the shapes of a record, and the columns and tags that say which field
// means what. A row that does not fit is answered with the reason, never with an error.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "data/conversation.h"

namespace cairn {

// Columns of an alpaca row: one prompt, one response. Empty where the entry maps none.
struct AlpacaColumns {
  std::string prompt = "instruction";
  std::string query = "input";
  std::string response = "output";
  std::string history = {};
  std::string system = {};
  std::string tools = {};
};

// Columns and tags of a row that lists its messages, as sharegpt and openai do. A tag that is empty
// is none.
struct MessageColumns {
  std::string messages = "conversations";
  std::string system = {};
  std::string tools = {};
  std::string role_tag = "from";
  std::string content_tag = "value";
  std::string user_tag = "human";
  std::string assistant_tag = "gpt";
  std::string observation_tag = "observation";
  std::string function_tag = "function_call";
  std::string system_tag = "system";
  bool openai = false;  // calls in `tool_calls`, and results of several calls one after the other
};

struct FormattedRow {
  Conversation conversation = {};
  std::string skipped = {};  // why the row cannot be used; empty when it can
};

// What a row must hold.
enum class RowUse : uint8_t {
  conversation,  // pairs of question and answer
  document       // a text, which is the first thing that is said
};

FormattedRow alpaca_row(const nlohmann::ordered_json& record, const AlpacaColumns& columns,
                        RowUse use = RowUse::conversation);
FormattedRow messages_row(const nlohmann::ordered_json& record, const MessageColumns& columns,
                          RowUse use = RowUse::conversation);
// Of a file that no entry describes: by the columns that the record has, as the three shapes are
// usually written, or a document by its `text`.
FormattedRow undescribed_row(const nlohmann::ordered_json& record, RowUse use);

// The tools of a record as JSON text; nothing when the column is not mapped, absent or null.
std::string tools_of(const nlohmann::ordered_json& record, const std::string& column);

}  // namespace cairn
