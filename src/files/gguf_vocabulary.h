// The vocabulary lists of a GGUF, checked against each other, before they become a tokenizer.json.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "files/gguf.h"

namespace cairn {

// tokenizer.ggml.token_type.
enum class TokenKind : uint8_t { normal = 1, unknown, control, user_defined, unused, byte };

struct GgufVocabulary {
  std::vector<std::string> tokens;  // by id; a tail of unused padding is dropped
  std::vector<TokenKind> kinds;
  std::vector<double> scores;                     // empty if absent
  nlohmann::json ids = nlohmann::json::object();  // token -> id
  std::optional<int64_t> bos, eos, unknown, padding;

  std::string text_of(const std::optional<int64_t>& id) const {
    return id ? tokens[static_cast<size_t>(*id)] : std::string();
  }
};

// Throws DamagedFile. The file must have tokenizer.ggml.tokens.
GgufVocabulary read_gguf_vocabulary(const GgufFile& gguf);

// A list of strings that is valid UTF-8. Throws DamagedFile.
std::vector<std::string> read_gguf_strings(const GgufFile& gguf, std::string_view key);

}  // namespace cairn
