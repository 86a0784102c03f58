// Normalizer: the Unicode normal form that a tokenizer.json asks for, or none.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace cairn {

class Normalizer {
 public:
  // Of the field `normalizer`; null is none. Throws UserError naming a type that is not built.
  explicit Normalizer(const nlohmann::json& description);

  // `text` must be valid UTF-8.
  std::string normalize(std::string_view text) const;
  bool changes_nothing() const { return forms_.empty(); }

 private:
  void add(const nlohmann::json& description);

  std::vector<int> forms_;  // utf8proc options, applied in order
};

}  // namespace cairn
