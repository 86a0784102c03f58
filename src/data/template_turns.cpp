// Turns through the slots of a template: thoughts first, then calls and tools, then ids.
#include "data/template_turns.h"

#include <string>
#include <string_view>

#include "base/error.h"
#include "data/tool_format.h"

namespace cairn {
namespace {

bool reasons(const TemplateRow& row) {
  return row.kind == TemplateKind::reasoning || row.kind == TemplateKind::reasoning_closed;
}

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \n\t");
  return first == text.npos ? "" : text.substr(first, text.find_last_not_of(" \n\t") - first + 1);
}

// Where the first stretch from `words.open` to the next `words.close` lies.
struct Found {
  size_t begin = std::string::npos, end = 0;  // with the words
  size_t inner_begin = 0, inner_end = 0;      // between them
  explicit operator bool() const { return begin != std::string::npos; }
};
Found find_words(const std::string& text, const Words& words, size_t from = 0) {
  const std::string_view open = words.open, close = words.close;
  Found found;
  const size_t begin = text.find(open, from);
  if (begin == text.npos) return found;
  const size_t inner_end = text.find(close, begin + open.size());
  if (inner_end == text.npos) return found;
  return {begin, inner_end + close.size(), begin + open.size(), inner_end};
}

// In one pass, as LLaMA-Factory's: what a removed thought leaves side by side is no new one.
std::string without_thoughts(const std::string& text, const Words& words) {
  std::string rest;
  size_t from = 0;
  for (Found found = find_words(text, words); found; found = find_words(text, words, from)) {
    rest.append(text, from, found.begin - from);
    from = found.end;
  }
  rest.append(text, from);
  return rest.erase(0, std::min(rest.find_first_not_of('\n'), rest.size()));
}

bool has_thought(const std::string& content, const Words& words) {
  return content.find(trimmed(words.open)) != content.npos ||
         content.find(trimmed(words.close)) != content.npos;
}

std::string empty_thought(const TemplateRow& row) {
  return row.kind == TemplateKind::reasoning_closed
             ? row.thought.close
             : std::string(row.thought.open) + row.thought.close;
}

// The content of a turn of calls in the words of the format. What stands around the calls stays
// before them.
std::string calls_of(const std::string& content, const TemplateRow& row, ToolFormat format) {
  if (row.kind == TemplateKind::fused) return calls_text(format, parse_calls(content));
  if (const Found call = find_words(content, row.call)) {
    std::string around = content;
    around.erase(call.begin, call.end - call.begin);
    return around + calls_text(format, parse_calls(content.substr(
                                           call.inner_begin, call.inner_end - call.inner_begin)));
  }
  const Found thought = find_words(content, row.thought);
  if (!thought) return calls_text(format, parse_calls(content));
  std::string rest = content;
  rest.erase(thought.begin, thought.end - thought.begin);
  return content.substr(thought.begin, thought.end - thought.begin) +
         calls_text(format, parse_calls(rest));
}

// The first {{content}} of the slot replaced.
std::string filled(std::string_view slot, std::string_view content) {
  constexpr std::string_view kMark = "{{content}}";
  const size_t at = slot.find(kMark);
  if (at == slot.npos) return std::string(slot);
  return fmt::format("{}{}{}", slot.substr(0, at), content, slot.substr(at + kMark.size()));
}

class TurnWriter {
 public:
  TurnWriter(const TemplateRow& row, const Tokenizer& tokenizer, const TemplateOptions& words)
      : row_(row), tokenizer_(tokenizer), words_(words) {
    calls_ = row.calls;
    tools_ = row.tools;
    if (!words.tool_format.empty()) calls_ = tools_ = tool_format_from(words.tool_format);
  }

  std::vector<int32_t> write(const Conversation& conversation, size_t index) {
    ids_.clear();
    const Turn& turn = conversation.turns[index];
    std::optional<std::string> system;
    if (index == 0) {
      append(row_.prefix, "");
      system = system_of(conversation);
    }
    const bool fuses = row_.kind == TemplateKind::fused;
    if (system && !fuses) append(row_.system, *system);
    switch (turn.role) {
      case Role::user:
        append(row_.user, (fuses && system ? filled(row_.system[0], *system) : "") + turn.content);
        break;
      case Role::observation:
        append(row_.observation.empty() ? row_.user : row_.observation, turn.content);
        break;
      case Role::assistant:
        append(answer_slots(), turn.content);
        break;
      case Role::function:
        append(function_slots(), calls_of(turn.content, row_, calls_));
        break;
    }
    return ids_;
  }

 private:
  // The system text with the tools behind it; nothing where there is neither. A list of no tools is
  // there, as in LLaMA-Factory: it makes an empty system text.
  std::optional<std::string> system_of(const Conversation& conversation) const {
    std::string system = !conversation.system.empty()
                             ? conversation.system
                             : words_.default_system.value_or(row_.default_system);
    if (system.empty() && conversation.tools.empty()) return std::nullopt;
    if (!conversation.tools.empty()) system += tools_text(tools_, conversation.tools, words_.date);
    return system;
  }
  const Slots& answer_slots() const {
    static const Slots kClosed = {kContent, kEos}, kOpen = {kContent};
    if (!row_.assistant.empty()) return row_.assistant;
    return row_.efficient_eos ? kOpen : kClosed;
  }
  // A tool format asked for by name closes calls with end of text, as LLaMA-Factory does.
  const Slots& function_slots() const {
    static const Slots kClosed = {kContent, kEos}, kOpen = {kContent};
    if (!words_.tool_format.empty()) return row_.efficient_eos ? kOpen : kClosed;
    return row_.function.empty() ? answer_slots() : row_.function;
  }

  void append(const Slots& slots, std::string_view content) {
    constexpr std::string_view kToken = "{{token:";
    for (const std::string_view slot : slots) {
      if (slot == kBos) {
        if (tokenizer_.bos()) ids_.push_back(*tokenizer_.bos());
      } else if (slot == kEos) {
        append_end();
      } else if (slot.starts_with(kToken)) {
        append_token(slot.substr(kToken.size(), slot.size() - kToken.size() - 2));
      } else {
        const std::vector<int32_t> more = tokenizer_.encode(filled(slot, content));
        ids_.insert(ids_.end(), more.begin(), more.end());
      }
    }
  }
  void append_end() {
    const auto eos = end_of_text_of(row_, tokenizer_);
    if (!eos)
      throw UserError(fmt::format(
          "the template \"{}\" ends an answer with the end-of-text token, but this tokenizer has "
          "none; give eos_token in tokenizer_config.json or choose another template",
          row_.name));
    ids_.push_back(*eos);
  }
  void append_token(std::string_view token) {
    const auto id = tokenizer_.id_of(token);
    if (!id)
      throw UserError(
          fmt::format("the template \"{}\" needs the token {}, which this tokenizer lacks; choose "
                      "the template that belongs to the model",
                      row_.name, token));
    ids_.push_back(*id);
  }

  const TemplateRow& row_;
  const Tokenizer& tokenizer_;
  const TemplateOptions& words_;
  ToolFormat calls_, tools_;
  std::vector<int32_t> ids_;
};

}  // namespace

std::optional<int32_t> end_of_text_of(const TemplateRow& row, const Tokenizer& tokenizer) {
  if (row.replace_eos)
    if (const auto id = tokenizer.id_of(row.stop_words.front())) return id;
  return tokenizer.eos() ? tokenizer.eos() : tokenizer.id_of("<|endoftext|>");
}

std::vector<std::vector<int32_t>> encode_turns(const Conversation& given, const TemplateRow& row,
                                               const Tokenizer& tokenizer,
                                               const TemplateOptions& words, bool drops_history) {
  Conversation conversation = given;
  std::vector<Turn>& turns = conversation.turns;
  for (size_t i = 0; i < turns.size(); ++i)
    CAIRN_CHECK(answers(turns[i].role) == (i % 2 == 1),
                "[chat_template] wanted turns that alternate, got the same side at turn {}", i);
  const bool given_thought = !words.enable_thinking.value_or(false);
  if (reasons(row)) {
    const bool takes_all = words.enable_thinking == false;
    for (size_t i = 1; i < turns.size(); i += 2)
      if (takes_all || (drops_history && i + 2 < turns.size()))
        turns[i].content = without_thoughts(turns[i].content, row.thought);
  }
  TurnWriter writer(row, tokenizer, words);
  std::vector<std::vector<int32_t>> ids;
  for (size_t i = 0; i < turns.size(); ++i) ids.push_back(writer.write(conversation, i));
  if (!reasons(row)) return ids;
  const std::vector<int32_t> thought = tokenizer.encode(empty_thought(row));
  for (size_t i = 1; i < turns.size(); i += 2) {
    if (has_thought(turns[i].content, row.thought) || (drops_history && i + 1 < turns.size()))
      continue;
    std::vector<int32_t>& where = ids[given_thought ? i - 1 : i];
    where.insert(given_thought ? where.end() : where.begin(), thought.begin(), thought.end());
  }
  return ids;
}

}  // namespace cairn
