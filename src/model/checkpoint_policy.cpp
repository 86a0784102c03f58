// Checkpoint policies and their words.
#include "model/checkpoint_policy.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/bytes.h"
#include "base/error.h"

namespace cairn {
namespace {

struct KindWord {
  std::string_view word;
  PolicyKind kind;
};
// "sqrt" is `every` without a length.
constexpr std::array kWords = {
    KindWord{"none", PolicyKind::none},      KindWord{"block", PolicyKind::block},
    KindWord{"every", PolicyKind::every},    KindWord{"sqrt", PolicyKind::every},
    KindWord{"nested", PolicyKind::nested},  KindWord{"selective", PolicyKind::selective},
    KindWord{"offload", PolicyKind::offload}};

bool has_segments(PolicyKind kind) {
  return kind == PolicyKind::every || kind == PolicyKind::nested;
}

std::optional<int64_t> parse_count(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1) return std::nullopt;
  return value;
}

// "4*every:2"
std::optional<PolicyTerm> parse_term(std::string_view text) {
  PolicyTerm term;
  if (const size_t star = text.find('*'); star != std::string_view::npos) {
    const auto count = parse_count(text.substr(0, star));
    if (!count) return std::nullopt;
    term.count = *count;
    text.remove_prefix(star + 1);
  }
  const size_t colon = text.find(':');
  const std::string_view word = text.substr(0, colon);
  const auto known = std::find_if(kWords.begin(), kWords.end(),
                                  [&](const KindWord& row) { return row.word == word; });
  if (known == kWords.end()) return std::nullopt;
  term.kind = known->kind;
  if (colon == std::string_view::npos) {
    if (word == "every") return std::nullopt;
    return term;
  }
  const auto segment = parse_count(text.substr(colon + 1));
  if (!segment || !has_segments(term.kind) || word == "sqrt") return std::nullopt;
  term.segment = *segment;
  return term;
}

Keep keep_of(PolicyKind kind) {
  switch (kind) {
    case PolicyKind::none:
      return Keep::everything;
    case PolicyKind::selective:
      return Keep::selected;
    case PolicyKind::offload:
      return Keep::paged_input;
    case PolicyKind::block:
    case PolicyKind::every:
    case PolicyKind::nested:
      return Keep::input;
  }
  return Keep::input;
}

// `count` blocks in segments of nearly equal length, at most `segment`.
void append_segments(CheckpointPolicy& policy, const PolicyTerm& term, int64_t count) {
  const auto root = static_cast<int64_t>(std::ceil(std::sqrt(static_cast<double>(count))));
  const int64_t segments = ceil_div(count, term.segment > 0 ? term.segment : root);
  for (int64_t segment = 0; segment < segments; ++segment) {
    const int64_t begin = count * segment / segments, end = count * (segment + 1) / segments;
    for (int64_t i = begin; i < end; ++i)
      policy.push_back({.first = i == begin ? Keep::input : Keep::nothing,
                        .again = term.kind == PolicyKind::nested ? Keep::input : Keep::everything});
  }
}

}  // namespace

CheckpointPolicy uniform_policy(Keep keep, int64_t num_blocks) {
  return CheckpointPolicy(static_cast<size_t>(num_blocks), BlockPolicy{.first = keep});
}

bool PolicyChoice::uses(PolicyKind kind) const {
  return std::any_of(terms.begin(), terms.end(),
                     [kind](const PolicyTerm& term) { return term.kind == kind; });
}

std::optional<PolicyChoice> parse_policy(std::string_view text) {
  PolicyChoice choice;
  choice.terms.clear();
  if (text == "auto") return choice;
  while (true) {
    const size_t plus = text.find('+');
    const auto term = parse_term(text.substr(0, plus));
    if (!term) return std::nullopt;
    choice.terms.push_back(*term);
    if (plus == std::string_view::npos) break;
    text.remove_prefix(plus + 1);
  }
  // A term of a mix says how many blocks it is for.
  const auto counted = [](const PolicyTerm& term) { return term.count > 0; };
  if (choice.terms.size() > 1 && !std::all_of(choice.terms.begin(), choice.terms.end(), counted))
    return std::nullopt;
  return choice;
}

std::string to_string(const PolicyChoice& choice) {
  if (choice.is_auto()) return "auto";
  std::string text;
  for (const PolicyTerm& term : choice.terms) {
    if (!text.empty()) text += '+';
    if (term.count > 0) text += fmt::format("{}*", term.count);
    if (term.kind == PolicyKind::every && term.segment == 0) {
      text += "sqrt";
      continue;
    }
    text += std::find_if(kWords.begin(), kWords.end(), [&](const KindWord& row) {
              return row.kind == term.kind;
            })->word;
    if (term.segment > 0) text += fmt::format(":{}", term.segment);
  }
  return text;
}

std::string_view policy_words() {
  return "none, block, every:K, sqrt, nested, selective, offload, auto, or a mix such as "
         "8*block+4*none";
}

CheckpointPolicy make_policy(const PolicyChoice& choice, int64_t num_blocks, MemberSet selected) {
  CAIRN_CHECK(!choice.is_auto(), "[make_policy] wanted a policy that is chosen, got auto");
  CheckpointPolicy policy;
  for (const PolicyTerm& term : choice.terms) {
    const int64_t count = term.count > 0 ? term.count : num_blocks;
    if (count > num_blocks) break;
    if (has_segments(term.kind))
      append_segments(policy, term, count);
    else
      policy.insert(policy.end(), static_cast<size_t>(count),
                    {.first = keep_of(term.kind), .recomputed = selected});
  }
  if (static_cast<int64_t>(policy.size()) != num_blocks)
    throw UserError(fmt::format(
        "gradient_checkpointing: {} is not for {} blocks, which this model has; let the counts add "
        "up to {}",
        to_string(choice), num_blocks, num_blocks));
  return policy;
}

}  // namespace cairn
