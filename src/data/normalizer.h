// Normalizer: what a tokenizer.json makes of a text before it is cut: Unicode normal forms, and the
// replacements by which SentencePiece writes spaces.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "data/json_field.h"

namespace cairn {

class Normalizer {
 public:
  // Of the field `normalizer`; null is none. Throws UserError naming a type that is not built.
  explicit Normalizer(const nlohmann::json& description);

  // `text` must be valid UTF-8.
  std::string normalize(std::string_view text) const;

 private:
  using Step = std::function<std::string(std::string)>;
  void add(const nlohmann::json& description);

  std::vector<Step> steps_;  // applied in order
};

// Throws DamagedFile when `part` of a tokenizer.json makes more of a text than any real one does.
void check_growth(size_t bytes, size_t grown_bytes, std::string_view part);

// Every match of the pattern replaced by `content`. Throws as check_growth does.
std::function<std::string(std::string)> make_replacement(TextPattern pattern, std::string content);

}  // namespace cairn
