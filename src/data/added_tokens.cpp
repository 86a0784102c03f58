// A trie of the added tokens, and the rules about what surrounds a match.
#include "data/added_tokens.h"

#include <algorithm>

#include "data/utf8.h"

namespace cairn {
namespace {

size_t white_space_at_end(std::string_view text) {
  const size_t all = text.size();
  while (!text.empty()) {
    const CodePoint point = last_code_point(text);
    if (!is_white_space(point.value)) break;
    text.remove_suffix(point.bytes);
  }
  return all - text.size();
}

size_t white_space_at_start(std::string_view text) {
  const size_t all = text.size();
  while (!text.empty()) {
    const CodePoint point = first_code_point(text);
    if (!is_white_space(point.value)) break;
    text.remove_prefix(point.bytes);
  }
  return all - text.size();
}

bool stands_alone(std::string_view before, std::string_view after) {
  return (before.empty() || !is_word(last_code_point(before).value)) &&
         (after.empty() || !is_word(first_code_point(after).value));
}

}  // namespace

void AddedTokenMatcher::add(std::string_view text, const AddedToken& token) {
  uint32_t node = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (const uint32_t* next = child(node, byte)) {
      node = *next;
    } else {
      const auto fresh = static_cast<uint32_t>(nodes_.size());
      nodes_[node].children.emplace_back(byte, fresh);
      nodes_.emplace_back();
      node = fresh;
    }
  }
  if (nodes_[node].token >= 0) return;
  nodes_[node].token = static_cast<int32_t>(tokens_.size());
  tokens_.push_back(token);
  begins_[static_cast<unsigned char>(text[0])] = true;
}

const uint32_t* AddedTokenMatcher::child(uint32_t node, unsigned char byte) const {
  const auto& children = nodes_[node].children;
  const auto found = std::find_if(children.begin(), children.end(),
                                  [&](const auto& entry) { return entry.first == byte; });
  return found == children.end() ? nullptr : &found->second;
}

AddedTokenMatcher::Match AddedTokenMatcher::longest_at(std::string_view text) const {
  Match match;
  uint32_t node = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const uint32_t* next = child(node, static_cast<unsigned char>(text[i]));
    if (next == nullptr) break;
    node = *next;
    if (nodes_[node].token >= 0) match = {i + 1, &tokens_[static_cast<size_t>(nodes_[node].token)]};
  }
  return match;
}

std::vector<TextOrToken> AddedTokenMatcher::split(std::string_view text) const {
  std::vector<TextOrToken> stretches;
  size_t taken = 0;  // everything before is in `stretches`
  for (size_t at = 0; at < text.size();) {
    const Match match =
        begins_[static_cast<unsigned char>(text[at])] ? longest_at(text.substr(at)) : Match();
    if (match.token == nullptr) {
      ++at;
      continue;
    }
    size_t begin = at, end = at + match.bytes;
    at = end;
    if (match.token->single_word && !stands_alone(text.substr(0, begin), text.substr(end)))
      continue;
    if (match.token->lstrip)
      begin = std::max(taken, begin - white_space_at_end(text.substr(0, begin)));
    if (match.token->rstrip) end += white_space_at_start(text.substr(end));
    if (taken < begin) stretches.push_back({text.substr(taken, begin - taken), -1});
    stretches.push_back({text.substr(begin, end - begin), match.token->id});
    taken = end;
  }
  if (taken < text.size()) stretches.push_back({text.substr(taken), -1});
  return stretches;
}

}  // namespace cairn
