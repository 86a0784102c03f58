#include "files/gguf_vocabulary.h"

#include <cmath>

#include "base/error.h"
#include "base/utf8.h"

namespace cairn {
namespace {

using nlohmann::json;

const json& require_array(const GgufFile& gguf, std::string_view key) {
  const json* value = gguf.find(key);
  if (value && value->is_array()) return *value;
  throw DamagedFile(fmt::format("{} has no list {}, which its tokenizer needs.", gguf.path(), key));
}

void require_length(const GgufFile& gguf, std::string_view key, size_t got, size_t wanted) {
  if (got != wanted)
    throw DamagedFile(
        fmt::format("{} has {} entries in {} for {} tokens.", gguf.path(), got, key, wanted));
}

std::vector<TokenKind> read_kinds(const GgufFile& gguf, size_t num_tokens) {
  constexpr std::string_view kKey = "tokenizer.ggml.token_type";
  if (!gguf.find(kKey)) return std::vector<TokenKind>(num_tokens, TokenKind::normal);
  const json& list = require_array(gguf, kKey);
  require_length(gguf, kKey, list.size(), num_tokens);
  std::vector<TokenKind> kinds;
  for (const json& kind : list) {
    const bool known =
        kind.is_number_integer() && kind.get<int64_t>() >= 1 && kind.get<int64_t>() <= 6;
    if (!known)
      throw DamagedFile(
          fmt::format("{} gives token {} a type that is not 1 to 6.", gguf.path(), kinds.size()));
    kinds.push_back(static_cast<TokenKind>(kind.get<int64_t>()));
  }
  return kinds;
}

std::vector<double> read_scores(const GgufFile& gguf, size_t num_tokens) {
  constexpr std::string_view kKey = "tokenizer.ggml.scores";
  if (!gguf.find(kKey)) return {};
  const json& list = require_array(gguf, kKey);
  require_length(gguf, kKey, list.size(), num_tokens);
  std::vector<double> scores;
  for (const json& score : list) {
    if (!score.is_number())
      throw DamagedFile(
          fmt::format("{} gives token {} a score that is no number.", gguf.path(), scores.size()));
    if (!std::isfinite(score.get<double>()))
      throw DamagedFile(
          fmt::format("{} gives token {} a score that is not finite.", gguf.path(), scores.size()));
    scores.push_back(score.get<double>());
  }
  return scores;
}

std::optional<int64_t> read_id(const GgufFile& gguf, std::string_view key, size_t num_tokens) {
  if (!gguf.find(key)) return std::nullopt;
  const int64_t id = gguf.count(key);
  if (id < static_cast<int64_t>(num_tokens)) return id;
  throw DamagedFile(
      fmt::format("{} gives {} as {}, but has only {} tokens.", gguf.path(), key, id, num_tokens));
}

// Converters fill the embedding's spare rows with unused tokens that no tokenizer.json has.
void drop_unused_tail(GgufVocabulary& vocabulary) {
  while (!vocabulary.kinds.empty() && vocabulary.kinds.back() == TokenKind::unused) {
    vocabulary.kinds.pop_back();
    vocabulary.tokens.pop_back();
    if (!vocabulary.scores.empty()) vocabulary.scores.pop_back();
  }
}

}  // namespace

std::vector<std::string> read_gguf_strings(const GgufFile& gguf, std::string_view key) {
  const json& list = require_array(gguf, key);
  std::vector<std::string> strings;
  strings.reserve(list.size());
  for (const json& item : list) {
    if (!item.is_string())
      throw DamagedFile(fmt::format("{} has an entry of {} that is no text.", gguf.path(), key));
    if (!is_valid_utf8(item.get_ref<const std::string&>()))
      throw DamagedFile(fmt::format("{} has text in {} that is not UTF-8.", gguf.path(), key));
    strings.push_back(item.get<std::string>());
  }
  return strings;
}

GgufVocabulary read_gguf_vocabulary(const GgufFile& gguf) {
  GgufVocabulary vocabulary;
  vocabulary.tokens = read_gguf_strings(gguf, "tokenizer.ggml.tokens");
  vocabulary.kinds = read_kinds(gguf, vocabulary.tokens.size());
  vocabulary.scores = read_scores(gguf, vocabulary.tokens.size());
  drop_unused_tail(vocabulary);
  const size_t num_tokens = vocabulary.tokens.size();
  for (size_t id = 0; id < num_tokens; ++id)
    if (!vocabulary.ids.emplace(vocabulary.tokens[id], id).second)
      throw DamagedFile(fmt::format("{} has the token \"{}\" twice in its vocabulary.", gguf.path(),
                                    vocabulary.tokens[id]));
  vocabulary.bos = read_id(gguf, "tokenizer.ggml.bos_token_id", num_tokens);
  vocabulary.eos = read_id(gguf, "tokenizer.ggml.eos_token_id", num_tokens);
  vocabulary.unknown = read_id(gguf, "tokenizer.ggml.unknown_token_id", num_tokens);
  vocabulary.padding = read_id(gguf, "tokenizer.ggml.padding_token_id", num_tokens);
  return vocabulary;
}

}  // namespace cairn
