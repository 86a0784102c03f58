// Labels and truncation, and the table of templates as a whole.
#include "data/chat_template.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "data/nearest_names.h"
#include "data/template_turns.h"

namespace cairn {
namespace {

void append(std::vector<int32_t>& ids, const std::vector<int32_t>& more) {
  ids.insert(ids.end(), more.begin(), more.end());
}

struct PairLengths {
  int64_t prompt;
  int64_t response;
};

// How much of a prompt and its response stays within `budget` tokens: a short one of the two is
// spared, else both shrink in proportion (in doubles, as LLaMA-Factory does, to cut at the same
// id).
PairLengths fit_pair(PairLengths pair, int64_t budget) {
  int64_t limit;
  if (2 * pair.response < budget)
    limit = budget;
  else if (2 * pair.prompt < budget)
    limit = budget - pair.prompt;
  else
    limit = static_cast<int64_t>(
        static_cast<double>(budget) *
        (static_cast<double>(pair.response) / static_cast<double>(pair.prompt + pair.response)));
  const int64_t response = std::min(limit, pair.response);
  return {std::min(std::max(budget - response, int64_t{0}), pair.prompt), response};
}

// The leading `count` ids, as ids and as labels of the same length.
void append_leading(const std::vector<int32_t>& ids, int64_t count, bool trained,
                    Example& example) {
  const auto end = ids.begin() + static_cast<ptrdiff_t>(count);
  example.ids.insert(example.ids.end(), ids.begin(), end);
  if (trained)
    example.labels.insert(example.labels.end(), ids.begin(), end);
  else
    example.labels.insert(example.labels.end(), static_cast<size_t>(count), kIgnored);
}

// The id that templates with an efficient end of text put after a conversation and train in place
// of the next question's first token.
std::optional<int32_t> efficient_eos(const TemplateRow& row, const Tokenizer& tokenizer) {
  if (!row.efficient_eos) return std::nullopt;
  const auto eos = end_of_text_of(row, tokenizer);
  if (!eos)
    throw UserError(fmt::format(
        "the template \"{}\" ends a conversation with the end-of-text token, but this tokenizer "
        "has none; give eos_token in tokenizer_config.json or choose another template",
        row.name));
  return eos;
}

}  // namespace

const std::vector<TemplateRow>& template_rows() {
  static const std::vector<TemplateRow> kRows = [] {
    std::vector<TemplateRow> rows = templates_a_g();
    for (auto* part : {templates_h_m, templates_n_z})
      for (TemplateRow& row : part()) rows.push_back(std::move(row));
    return rows;
  }();
  return kRows;
}

ChatTemplate ChatTemplate::named(std::string_view name) {
  for (const TemplateRow& row : template_rows())
    if (name == row.name) return ChatTemplate(row);
  throw UserError(fmt::format("the template \"{}\" is not built; the nearest built ones are {}",
                              name, fmt::join(nearest_names(name, names()), ", ")));
}

std::vector<std::string> ChatTemplate::names() {
  std::vector<std::string> all;
  for (const TemplateRow& row : template_rows()) all.emplace_back(row.name);
  return all;
}

std::string_view ChatTemplate::name() const { return row_->name; }
std::string ChatTemplate::described() const {
  std::string text = fmt::format("{}|{}|{}|{}|{}|{}", row_->name, static_cast<int>(row_->kind),
                                 static_cast<int>(row_->calls), static_cast<int>(row_->tools),
                                 row_->efficient_eos, row_->replace_eos);
  for (const Slots* slots : {&row_->prefix, &row_->system, &row_->user, &row_->assistant,
                             &row_->function, &row_->observation, &row_->stop_words})
    text += fmt::format("|{}", fmt::join(*slots, "\x1F"));
  return fmt::format("{}|{}|{}|{}|{}|{}", text, row_->default_system, row_->thought.open,
                     row_->thought.close, row_->call.open, row_->call.close);
}
bool ChatTemplate::has_efficient_eos() const { return row_->efficient_eos; }

EncodedConversation ChatTemplate::encode(const Conversation& conversation,
                                         const Tokenizer& tokenizer,
                                         const EncodeOptions& options) const {
  const bool drops_history = options.mask_history && !options.words.preserve_thinking;
  const auto turns = encode_turns(conversation, *row_, tokenizer, options.words, drops_history);
  CAIRN_CHECK(!turns.empty() && turns.size() % 2 == 0,
              "[chat_template] wanted pairs of question and answer, got {} turns", turns.size());
  const std::optional<int32_t> eos = efficient_eos(*row_, tokenizer);
  const size_t pairs = turns.size() / 2;
  EncodedConversation encoded;
  std::vector<Example> kept;  // in the order of filling
  int64_t used = eos ? 1 : 0, wanted = used;
  for (const auto& turn : turns) wanted += static_cast<int64_t>(turn.size());
  for (size_t i = 0; i < pairs && used < options.cutoff_len; ++i) {
    const size_t pair = options.mask_history ? pairs - 1 - i : i;
    const auto& prompt = turns[2 * pair];
    const auto& response = turns[2 * pair + 1];
    const PairLengths fit =
        fit_pair({static_cast<int64_t>(prompt.size()), static_cast<int64_t>(response.size())},
                 options.cutoff_len - used);
    used += fit.prompt + fit.response;
    Example& part = kept.emplace_back();
    append_leading(prompt, fit.prompt, options.train_on_prompt, part);
    append_leading(response, fit.response, !options.mask_history || pair + 1 == pairs, part);
    if (eos && i > 0 && fit.prompt > 0 && !options.train_on_prompt) part.labels[0] = *eos;
  }
  if (options.mask_history) std::reverse(kept.begin(), kept.end());
  for (const Example& part : kept) {
    append(encoded.example.ids, part.ids);
    append(encoded.example.labels, part.labels);
  }
  if (eos) {
    encoded.example.ids.push_back(*eos);
    encoded.example.labels.push_back(*eos);
  }
  encoded.truncated = used < wanted;
  return encoded;
}

std::vector<int32_t> ChatTemplate::encode_prompt(const Conversation& conversation,
                                                 const Tokenizer& tokenizer,
                                                 const TemplateOptions& words) const {
  CAIRN_CHECK(conversation.turns.size() % 2 == 1,
              "[chat_template] wanted a prompt that ends with a question, got {} turns",
              conversation.turns.size());
  // The answer to come is a turn without text: where a thought is given, it stands before it.
  Conversation with_answer = conversation;
  with_answer.turns.push_back({Role::assistant, ""});
  const auto turns = encode_turns(with_answer, *row_, tokenizer, words, !words.preserve_thinking);
  std::vector<int32_t> ids;
  for (size_t i = 0; i + 1 < turns.size(); ++i) append(ids, turns[i]);
  return ids;
}

std::optional<int32_t> ChatTemplate::end_of_text(const Tokenizer& tokenizer) const {
  return end_of_text_of(*row_, tokenizer);
}

std::vector<int32_t> ChatTemplate::stop_ids(const Tokenizer& tokenizer) const {
  std::vector<int32_t> ids;
  const auto add = [&](std::optional<int32_t> id) {
    if (id && std::find(ids.begin(), ids.end(), *id) == ids.end()) ids.push_back(*id);
  };
  for (const char* word : row_->stop_words) add(tokenizer.id_of(word));
  add(tokenizer.eos() ? tokenizer.eos() : tokenizer.id_of("<|endoftext|>"));
  return ids;
}

std::vector<std::string> ChatTemplate::missing_markers(const Tokenizer& tokenizer) const {
  std::vector<std::string> missing;
  for (const Slots* slots : {&row_->system, &row_->user, &row_->assistant})
    for (std::string_view rest : *slots)
      while (rest.find("<|") != rest.npos) {
        const size_t begin = rest.find("<|"), end = rest.find("|>", begin);
        if (end == rest.npos) break;
        const std::string marker(rest.substr(begin, end + 2 - begin));
        rest.remove_prefix(end + 2);
        if (!tokenizer.id_of(marker) &&
            std::find(missing.begin(), missing.end(), marker) == missing.end())
          missing.push_back(marker);
      }
  for (const char* word : row_->stop_words)
    if (!tokenizer.id_of(word) && std::find(missing.begin(), missing.end(), word) == missing.end())
      missing.emplace_back(word);
  return missing;
}

}  // namespace cairn
