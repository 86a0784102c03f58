// TokenDecoder: from the texts of tokens back to text, by the field `decoder` of a tokenizer.json.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace cairn {

class TokenDecoder {
 public:
  // Null joins the tokens as they are. Throws UserError naming a type that is not built.
  explicit TokenDecoder(const nlohmann::json& description);

  // Whether a step asks for bytes of the byte-level alphabet, so that the tokens given to decode()
  // must be raw bytes already.
  bool is_byte_level() const { return byte_level_; }
  // The text, not yet held to UTF-8.
  std::string decode(std::vector<std::string> tokens) const;

 private:
  using Step = std::function<void(std::vector<std::string>&)>;
  void add(const nlohmann::json& description);

  std::vector<Step> steps_;  // applied in order
  bool byte_level_ = false;
};

}  // namespace cairn
