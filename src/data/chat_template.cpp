// The table of templates, and the rules of labels and truncation.
#include "data/chat_template.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "data/nearest_names.h"

namespace cairn {
namespace {

// What one element of a turn becomes. Content stands where {} is in a text.
struct Element {
  enum Kind { text, bos, eos } kind = text;
  const char* pattern = "";
};

using Elements = std::vector<Element>;

Element text(const char* pattern) { return {Element::text, pattern}; }
const Element kBos = {Element::bos, ""};
const Element kEos = {Element::eos, ""};

}  // namespace

struct TemplateRow {
  const char* name;
  Elements prefix;
  Elements system;  // only where there is a system text
  Elements user;    // up to where the answer begins
  Elements assistant;
  const char* default_system;
  std::vector<const char*> stop_words;  // single tokens that end an answer
};

namespace {

const std::vector<TemplateRow>& table() {
  static const char* const kChatUser = "<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n";
  static const char* const kChatSystem = "<|im_start|>system\n{}<|im_end|>\n";
  static const char* const kChatAssistant = "{}<|im_end|>\n";
  static const std::vector<TemplateRow> kTable = {
      {"alpaca",
       {},
       {text("{}")},
       {text("### Instruction:\n{}\n\n### Response:\n")},
       {text("{}"), kEos, text("\n\n")},
       "Below is an instruction that describes a task. Write a response that appropriately "
       "completes the request.\n\n",
       {}},
      {"chatml",
       {},
       {text(kChatSystem)},
       {text(kChatUser)},
       {text(kChatAssistant)},
       "",
       {"<|im_end|>", "<|im_start|>"}},
      {"empty", {}, {text("{}")}, {text("{}")}, {text("{}")}, "", {}},
      {"llama3",
       {kBos},
       {text("<|start_header_id|>system<|end_header_id|>\n\n{}<|eot_id|>")},
       {text("<|start_header_id|>user<|end_header_id|>\n\n{}<|eot_id|>"
             "<|start_header_id|>assistant<|end_header_id|>\n\n")},
       {text("{}<|eot_id|>")},
       "",
       {"<|eot_id|>", "<|eom_id|>"}},
      {"qwen3_nothink",
       {},
       {text(kChatSystem)},
       {text(kChatUser)},
       {text(kChatAssistant)},
       "",
       {"<|im_end|>"}},
  };
  return kTable;
}

// A tokenizer whose files name no end of text usually has this one.
std::optional<int32_t> end_of_text(const Tokenizer& tokenizer) {
  return tokenizer.eos() ? tokenizer.eos() : tokenizer.id_of("<|endoftext|>");
}

void append(std::vector<int32_t>& ids, const std::vector<int32_t>& more) {
  ids.insert(ids.end(), more.begin(), more.end());
}

std::string filled(std::string_view pattern, std::string_view content) {
  const size_t at = pattern.find("{}");
  if (at == pattern.npos) return std::string(pattern);
  return fmt::format("{}{}{}", pattern.substr(0, at), content, pattern.substr(at + 2));
}

void append_elements(const Elements& elements, std::string_view content, const TemplateRow& row,
                     const Tokenizer& tokenizer, std::vector<int32_t>& ids) {
  for (const Element& element : elements) {
    if (element.kind == Element::text) {
      append(ids, tokenizer.encode(filled(element.pattern, content)));
    } else if (element.kind == Element::bos) {
      if (tokenizer.bos()) ids.push_back(*tokenizer.bos());
    } else {
      const auto eos = end_of_text(tokenizer);
      if (!eos)
        throw UserError(fmt::format(
            "the template \"{}\" ends an answer with the end-of-text token, but this tokenizer has "
            "none; give eos_token in tokenizer_config.json or choose another template",
            row.name));
      ids.push_back(*eos);
    }
  }
}

// The ids of each turn; the first one carries prefix and system text.
std::vector<std::vector<int32_t>> encode_turns(const Conversation& conversation,
                                               const TemplateRow& row, const Tokenizer& tokenizer,
                                               const std::optional<std::string>& default_system) {
  const std::string system = !conversation.system.empty()
                                 ? conversation.system
                                 : default_system.value_or(row.default_system);
  std::vector<std::vector<int32_t>> turns(conversation.turns.size());
  for (size_t i = 0; i < turns.size(); ++i) {
    const Turn& turn = conversation.turns[i];
    CAIRN_CHECK(turn.role == (i % 2 == 0 ? Role::user : Role::assistant),
                "[chat_template] wanted turns that alternate, got the same speaker at turn {}", i);
    if (i == 0) {
      append_elements(row.prefix, "", row, tokenizer, turns[i]);
      if (!system.empty()) append_elements(row.system, system, row, tokenizer, turns[i]);
    }
    append_elements(turn.role == Role::user ? row.user : row.assistant, turn.content, row,
                    tokenizer, turns[i]);
  }
  return turns;
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

}  // namespace

ChatTemplate ChatTemplate::named(std::string_view name) {
  for (const TemplateRow& row : table())
    if (name == row.name) return ChatTemplate(row);
  throw UserError(fmt::format("the template \"{}\" is not built; the nearest built ones are {}",
                              name, fmt::join(nearest_names(name, names()), ", ")));
}

std::vector<std::string> ChatTemplate::names() {
  std::vector<std::string> all;
  for (const TemplateRow& row : table()) all.emplace_back(row.name);
  return all;
}

std::string_view ChatTemplate::name() const { return row_->name; }

EncodedConversation ChatTemplate::encode(const Conversation& conversation,
                                         const Tokenizer& tokenizer,
                                         const EncodeOptions& options) const {
  const auto turns = encode_turns(conversation, *row_, tokenizer, options.default_system);
  CAIRN_CHECK(!turns.empty() && turns.size() % 2 == 0,
              "[chat_template] wanted pairs of user and assistant, got {} turns", turns.size());
  const size_t pairs = turns.size() / 2;
  EncodedConversation encoded;
  std::vector<Example> kept;  // in the order of filling
  int64_t used = 0, wanted = 0;
  for (const auto& turn : turns) wanted += static_cast<int64_t>(turn.size());
  for (size_t i = 0; i < pairs && used < options.cutoff_len; ++i) {
    const size_t pair = options.mask_history ? pairs - 1 - i : i;
    const auto& prompt = turns[2 * pair];
    const auto& response = turns[2 * pair + 1];
    const PairLengths fit =
        fit_pair({static_cast<int64_t>(prompt.size()), static_cast<int64_t>(response.size())},
                 options.cutoff_len - used);
    used += fit.prompt + fit.response;
    Example& example = kept.emplace_back();
    append_leading(prompt, fit.prompt, options.train_on_prompt, example);
    append_leading(response, fit.response, !options.mask_history || pair + 1 == pairs, example);
  }
  if (options.mask_history) std::reverse(kept.begin(), kept.end());
  for (const Example& example : kept) {
    append(encoded.example.ids, example.ids);
    append(encoded.example.labels, example.labels);
  }
  encoded.truncated = used < wanted;
  return encoded;
}

std::vector<int32_t> ChatTemplate::encode_prompt(
    const Conversation& conversation, const Tokenizer& tokenizer,
    const std::optional<std::string>& default_system) const {
  CAIRN_CHECK(conversation.turns.size() % 2 == 1,
              "[chat_template] wanted a prompt that ends with the user, got {} turns",
              conversation.turns.size());
  std::vector<int32_t> ids;
  for (const auto& turn : encode_turns(conversation, *row_, tokenizer, default_system))
    append(ids, turn);
  return ids;
}

std::vector<int32_t> ChatTemplate::stop_ids(const Tokenizer& tokenizer) const {
  std::vector<int32_t> ids;
  const auto add = [&](std::optional<int32_t> id) {
    if (id && std::find(ids.begin(), ids.end(), *id) == ids.end()) ids.push_back(*id);
  };
  for (const char* word : row_->stop_words) add(tokenizer.id_of(word));
  add(end_of_text(tokenizer));
  return ids;
}

std::vector<std::string> ChatTemplate::missing_markers(const Tokenizer& tokenizer) const {
  std::vector<std::string> missing;
  for (const Elements* elements : {&row_->system, &row_->user, &row_->assistant})
    for (const Element& element : *elements)
      for (std::string_view rest = element.pattern; rest.find("<|") != rest.npos;) {
        const size_t begin = rest.find("<|"), end = rest.find("|>", begin);
        if (end == rest.npos) break;
        const std::string marker(rest.substr(begin, end + 2 - begin));
        rest.remove_prefix(end + 2);
        if (!tokenizer.id_of(marker) &&
            std::find(missing.begin(), missing.end(), marker) == missing.end())
          missing.push_back(marker);
      }
  return missing;
}

}  // namespace cairn
