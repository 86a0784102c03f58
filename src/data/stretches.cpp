// The five behaviours of a split.
#include "data/stretches.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace cairn {
namespace {

Stretches joined_to_previous(const Stretches& stretches) {
  Stretches joined;
  bool after_match = false;
  for (const Stretch& stretch : stretches) {
    if (stretch.match && !after_match && !joined.empty())
      joined.back().end = stretch.end;
    else
      joined.push_back(stretch);
    after_match = stretch.match;
  }
  return joined;
}

Stretches joined_to_next(const Stretches& stretches) {
  Stretches joined;
  bool before_match = false;
  for (auto stretch = stretches.rbegin(); stretch != stretches.rend(); ++stretch) {
    if (stretch->match && !before_match && !joined.empty())
      joined.back().begin = stretch->begin;
    else
      joined.push_back(*stretch);
    before_match = stretch->match;
  }
  std::reverse(joined.begin(), joined.end());
  return joined;
}

Stretches joined_runs(const Stretches& stretches) {
  Stretches joined;
  for (const Stretch& stretch : stretches) {
    if (!joined.empty() && joined.back().match == stretch.match)
      joined.back().end = stretch.end;
    else
      joined.push_back(stretch);
  }
  return joined;
}

}  // namespace

void StretchList::add_match(size_t begin, size_t end) {
  if (begin > covered_) stretches_.push_back({covered_, begin, false});
  stretches_.push_back({begin, end, true});
  covered_ = end;
}

Stretches StretchList::take() {
  if (covered_ < text_bytes_) stretches_.push_back({covered_, text_bytes_, false});
  return std::move(stretches_);
}

SplitBehavior split_behavior_from(const std::string& name) {
  constexpr std::pair<const char*, SplitBehavior> kBehaviors[] = {
      {"Removed", SplitBehavior::removed},
      {"Isolated", SplitBehavior::isolated},
      {"MergedWithPrevious", SplitBehavior::merged_with_previous},
      {"MergedWithNext", SplitBehavior::merged_with_next},
      {"Contiguous", SplitBehavior::contiguous}};
  for (const auto& [known, behavior] : kBehaviors)
    if (name == known) return behavior;
  throw UserError(fmt::format("tokenizer.json: the split behavior \"{}\" is not known", name));
}

void append_pieces(Stretches stretches, SplitBehavior behavior, std::string_view text,
                   std::vector<std::string_view>& pieces) {
  if (behavior == SplitBehavior::merged_with_previous) stretches = joined_to_previous(stretches);
  if (behavior == SplitBehavior::merged_with_next) stretches = joined_to_next(stretches);
  if (behavior == SplitBehavior::contiguous) stretches = joined_runs(stretches);
  for (const Stretch& stretch : stretches)
    if (behavior != SplitBehavior::removed || !stretch.match)
      pieces.push_back(text.substr(stretch.begin, stretch.end - stretch.begin));
}

}  // namespace cairn
