// Stretches: a text cut by a pattern into matches and what lies between them, and what a
// pre-tokenizer makes of them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cairn {

struct Stretch {
  size_t begin;
  size_t end;
  bool match;
};
using Stretches = std::vector<Stretch>;

// Takes matches from left to right and fills in what lies between them.
class StretchList {
 public:
  explicit StretchList(size_t text_bytes) : text_bytes_(text_bytes) {}
  void add_match(size_t begin, size_t end);
  Stretches take();

 private:
  size_t text_bytes_;
  size_t covered_ = 0;
  Stretches stretches_;
};

// What becomes of the matches; the names are those of tokenizer.json.
enum class SplitBehavior { removed, isolated, merged_with_previous, merged_with_next, contiguous };

// Throws UserError for a name that is not known.
SplitBehavior split_behavior_from(const std::string& name);

// Appends the pieces of `text`, which the stretches cover.
void append_pieces(Stretches stretches, SplitBehavior behavior, std::string_view text,
                   std::vector<std::string_view>& pieces);

}  // namespace cairn
