// Chat templates: how turns become token ids and labels, by LLaMA-Factory's rules. Each element of
// a turn is tokenised by itself without automatic special tokens, so prompt and response never
// share a token; the response with its closing token is trained, everything else is not. The
// templates are rows of a table (data/templates/).
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

// What a template's words may be bent to, by keys of the recipe.
struct TemplateOptions {
  std::optional<std::string> default_system = std::nullopt;  // overrides the template's default
  // Of reasoning templates: whether an empty thought is trained (true) or given (false, none), and
  // whether thoughts are taken out of the answers (false).
  std::optional<bool> enable_thinking = true;
  bool preserve_thinking = false;  // of earlier turns, where only the last one trains
  std::string tool_format = {};    // empty: the template's own
  // The day that the format llama3 names. A fixed one, the default of Llama 3's own template, so
  // that a recipe means the same tokens on every day.
  std::string date = "26 Jul 2024";

  bool operator==(const TemplateOptions&) const = default;
};

struct EncodeOptions {
  int64_t cutoff_len = 2048;     // tokens an example may have
  bool train_on_prompt = false;  // prompt ids are labels too
  bool mask_history = false;     // only the last turn trains, and is kept first
  TemplateOptions words = {};
};

struct EncodedConversation {
  Example example;
  bool truncated = false;
};

struct TemplateRow;

class ChatTemplate {
 public:
  // Throws UserError with the nearest names when there is no such template.
  static ChatTemplate named(std::string_view name);
  static std::vector<std::string> names();

  std::string_view name() const;
  // All that its row says, in one line: a part of the key of what was tokenised by it.
  std::string described() const;
  // Whether end of text stands once after the whole conversation, where train_on_prompt makes no
  // sense.
  bool has_efficient_eos() const;

  // Turns must alternate between asking and answering and end with an answer. Throws UnusableRow
  // for calls and tools that the template cannot write.
  EncodedConversation encode(const Conversation& conversation, const Tokenizer& tokenizer,
                             const EncodeOptions& options) const;
  // Turns must end with a question: ids up to where the answer begins.
  std::vector<int32_t> encode_prompt(const Conversation& conversation, const Tokenizer& tokenizer,
                                     const TemplateOptions& words = {}) const;
  // The token that ends a text: the first stop word of templates that say so, else the tokenizer's.
  std::optional<int32_t> end_of_text(const Tokenizer& tokenizer) const;
  // Ids that end an answer: the stop words that are tokens, then the end of text.
  std::vector<int32_t> stop_ids(const Tokenizer& tokenizer) const;
  // Markers of this template that this tokenizer has no single token for: they are spelled out as
  // text, which works but trains worse. Empty is the normal answer.
  std::vector<std::string> missing_markers(const Tokenizer& tokenizer) const;

 private:
  explicit ChatTemplate(const TemplateRow& row) : row_(&row) {}
  const TemplateRow* row_;
};

}  // namespace cairn
