// Chat templates: how turns become token ids and labels, by LLaMA-Factory's rules. Each element of
// a turn is tokenised by itself without automatic special tokens, so prompt and response never
// share a token; the response with its closing token is trained, everything else is not. One table
// row each.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/conversation.h"
#include "data/example.h"
#include "data/tokenizer.h"

namespace cairn {

struct EncodeOptions {
  int64_t cutoff_len = 2048;     // tokens an example may have
  bool train_on_prompt = false;  // prompt ids are labels too
  bool mask_history = false;     // only the last turn trains, and is kept first
  std::optional<std::string> default_system = std::nullopt;  // overrides the template's default
};

struct EncodedConversation {
  Example example;
  bool truncated = false;
};

struct TemplateRow;  // one row of the table, in chat_template.cpp

class ChatTemplate {
 public:
  // Throws UserError with the nearest names when there is no such template.
  static ChatTemplate named(std::string_view name);
  static std::vector<std::string> names();

  std::string_view name() const;

  // Turns must alternate user, assistant and end with the assistant.
  EncodedConversation encode(const Conversation& conversation, const Tokenizer& tokenizer,
                             const EncodeOptions& options) const;
  // Turns must end with the user: ids up to where the answer begins.
  std::vector<int32_t> encode_prompt(
      const Conversation& conversation, const Tokenizer& tokenizer,
      const std::optional<std::string>& default_system = std::nullopt) const;
  // Ids that end an answer: the stop words that are tokens, then the tokenizer's own end of text.
  std::vector<int32_t> stop_ids(const Tokenizer& tokenizer) const;
  // Markers of this template that this tokenizer has no single token for: they are spelled out as
  // text, which works but trains worse. Empty is the normal answer.
  std::vector<std::string> missing_markers(const Tokenizer& tokenizer) const;

 private:
  explicit ChatTemplate(const TemplateRow& row) : row_(&row) {}
  const TemplateRow* row_;
};

}  // namespace cairn
