// The ids of a conversation's turns under a template, before anything is cut or labelled.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "data/chat_template.h"
#include "data/templates/template_row.h"

namespace cairn {

// The tokenizer's end of text, or what usually is it where its files name none.
std::optional<int32_t> end_of_text_of(const TemplateRow& row, const Tokenizer& tokenizer);

// One list for each turn; the first carries prefix and system text. `drops_history`: earlier
// answers lose their thoughts. Throws UnusableRow.
std::vector<std::vector<int32_t>> encode_turns(const Conversation& conversation,
                                               const TemplateRow& row, const Tokenizer& tokenizer,
                                               const TemplateOptions& words, bool drops_history);

}  // namespace cairn
