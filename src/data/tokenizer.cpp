// Reading tokenizer.json into its parts, and running text through them: added tokens, normal form,
// added tokens again, pieces, merges.
#include "data/tokenizer.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "data/added_tokens.h"
#include "data/byte_level.h"
#include "data/byte_pair_model.h"
#include "data/json_field.h"
#include "data/normalizer.h"
#include "data/pre_tokenizer.h"
#include "data/token_decoder.h"
#include "data/utf8.h"

namespace cairn {

using nlohmann::json;

struct Tokenizer::Parts {
  explicit Parts(const json& tokenizer_json);

  void add_token(AddedToken token);
  void read_added_tokens(const json& list);
  void read_config(const json& config);
  void fill_token_texts();
  std::optional<int32_t> id_of(std::string_view token) const;
  std::optional<int32_t> special_from(const json& config, const char* key) const;
  void read_pad(const json& config);
  // `begins`: nothing stands before this text.
  void encode_text(std::string_view text, bool begins, std::vector<int32_t>& ids) const;

  struct TokenText {
    std::string bytes;  // what the id reads as, before the decoder's steps
    bool known = false;
    bool special = false;
  };

  Normalizer normalizer;
  PreTokenizer pre_tokenizer;
  BytePairModel model;
  TokenDecoder decoder;
  AddedTokenMatcher raw_matcher;         // on the text as given
  AddedTokenMatcher normalized_matcher;  // on normalized text
  std::unordered_map<std::string, int32_t> added_ids;
  std::vector<AddedToken> added;
  size_t added_bytes = 0;        // of all that the matchers look for
  std::vector<TokenText> texts;  // [vocab_size]
  std::optional<int32_t> bos, eos, pad;
  bool names_pad = false;
  bool adds_bos = false;
};

namespace {

constexpr const char* kWhere = "tokenizer.json";

// The matcher takes dozens of bytes for each byte of an added token; real ones have tens.
constexpr size_t kLongestAddedToken = 4096;
constexpr size_t kMostAddedBytes = size_t{4} << 20;

const json& model_of(const json& tokenizer_json) {
  const json& model = field_of(tokenizer_json, "model", kWhere);
  if (!model.is_object())
    throw DamagedFile("tokenizer.json has no `model` object; is it the tokenizer.json of a model?");
  // Old files leave the type out; they can still be told by their fields.
  const std::string type =
      string_field(model, "type", model.contains("merges") ? "BPE" : "", kWhere);
  if (type != "BPE")
    throw UserError(fmt::format(
        "tokenizer.json (version {}) holds a model of type \"{}\", which is not built; built is "
        "BPE, of bytes (GPT-2, Llama 3, Qwen, SmolLM) or with byte_fallback (Llama 2, Mistral, "
        "Gemma)",
        string_field(tokenizer_json, "version", "unknown", kWhere), type));
  return model;
}

// The type of the model decides what the rest must be, so it is looked at first.
json part_of(const json& tokenizer_json, const char* key) {
  model_of(tokenizer_json);
  return field_of(tokenizer_json, key, kWhere);
}

AddedToken added_token_from(const json& entry, int32_t id, std::string_view where) {
  AddedToken token;
  token.id = id;
  token.content = token.reads_as = string_field(entry, "content", "", where);
  if (token.content.empty())
    throw DamagedFile(
        fmt::format("{}: the token of id {} has no `content`; what text is it?", where, id));
  if (token.content.size() > kLongestAddedToken)
    throw DamagedFile(
        fmt::format("{}: the token of id {} has {} bytes of `content`; {} is the most", where, id,
                    token.content.size(), kLongestAddedToken));
  token.single_word = bool_field(entry, "single_word", false, where);
  token.lstrip = bool_field(entry, "lstrip", false, where);
  token.rstrip = bool_field(entry, "rstrip", false, where);
  token.special = bool_field(entry, "special", false, where);
  token.normalized = bool_field(entry, "normalized", !token.special, where);
  return token;
}

// A special token as tokenizer_config.json spells it: its text, or an object that holds it.
std::optional<std::string> special_name(const json& config, const char* key) {
  const json& value = field_of(config, key, "tokenizer_config.json");
  if (value.is_null()) return std::nullopt;
  return value.is_object() ? string_field(value, "content", "", "tokenizer_config.json")
                           : string_field(config, key, "", "tokenizer_config.json");
}

}  // namespace

Tokenizer::Parts::Parts(const json& tokenizer_json)
    : normalizer(part_of(tokenizer_json, "normalizer")),
      pre_tokenizer(part_of(tokenizer_json, "pre_tokenizer")),
      model(model_of(tokenizer_json),
            pre_tokenizer.is_byte_level() ? Spelling::bytes : Spelling::characters),
      decoder(part_of(tokenizer_json, "decoder")) {
  if (decoder.is_byte_level() != pre_tokenizer.is_byte_level() &&
      !part_of(tokenizer_json, "decoder").is_null())
    throw UserError(fmt::format(
        "tokenizer.json has a pre_tokenizer that {} with \"ByteLevel\" and a decoder that {}; only "
        "files in which both or neither are byte-level are built",
        pre_tokenizer.is_byte_level() ? "ends" : "does not end",
        decoder.is_byte_level() ? "does" : "does not"));
  read_added_tokens(field_of(tokenizer_json, "added_tokens", kWhere));
}

void Tokenizer::Parts::read_added_tokens(const json& list) {
  constexpr const char* kList = "tokenizer.json: added_tokens";
  if (list.is_null()) return;
  if (!list.is_array()) throw DamagedFile(fmt::format("{} should be a list", kList));
  for (const json& entry : list)
    add_token(added_token_from(entry, id_from(field_of(entry, "id", kList), kList), kList));
}

void Tokenizer::Parts::add_token(AddedToken token) {
  // A token that the vocabulary holds keeps the vocabulary's id.
  token.id = model.id_of(token.content).value_or(token.id);
  if (!added_ids.emplace(token.content, token.id).second) return;
  if (token.normalized) token.reads_as = normalizer.normalize(token.content);
  added_bytes += token.reads_as.size();
  if (added_bytes > kMostAddedBytes)
    throw DamagedFile(fmt::format("{} has more than {} bytes of added tokens, {} of them", kWhere,
                                  kMostAddedBytes, added.size()));
  if (token.normalized) {
    if (!token.reads_as.empty()) normalized_matcher.add(token.reads_as, token);
  } else {
    raw_matcher.add(token.content, token);
  }
  added.push_back(std::move(token));
}

void Tokenizer::Parts::read_config(const json& config) {
  constexpr const char* kDecoder = "tokenizer_config.json: added_tokens_decoder";
  if (!config.is_null()) {
    const json& listed = field_of(config, "added_tokens_decoder", "tokenizer_config.json");
    if (listed.is_object())
      for (const auto& [key, entry] : listed.items())
        add_token(added_token_from(entry, id_from_key(key, kDecoder), kDecoder));
    bos = special_from(config, "bos_token");
    eos = special_from(config, "eos_token");
    read_pad(config);
    // Classes of SentencePiece add it unless told otherwise, as in transformers.
    const std::string type = string_field(config, "tokenizer_class", "", "tokenizer_config.json");
    const bool by_class = type.starts_with("LlamaTokenizer") ||
                          type.starts_with("GemmaTokenizer") ||
                          type.starts_with("CodeLlamaTokenizer");
    adds_bos = bos && bool_field(config, "add_bos_token", by_class, "tokenizer_config.json");
  }
}

std::optional<int32_t> Tokenizer::Parts::special_from(const json& config, const char* key) const {
  const std::optional<std::string> token = special_name(config, key);
  if (!token) return std::nullopt;
  const auto id = id_of(*token);
  if (!id)
    throw DamagedFile(fmt::format(
        "tokenizer_config.json names \"{}\" as {}, but tokenizer.json has no such token; the two "
        "files do not belong together",
        *token, key));
  return id;
}

void Tokenizer::Parts::read_pad(const json& config) {
  const std::optional<std::string> token = special_name(config, "pad_token");
  names_pad = token.has_value();
  if (token) pad = id_of(*token);
}

void Tokenizer::Parts::fill_token_texts() {
  const size_t known = model.vocabulary().size() + added.size();
  const auto put = [&](const std::string& token, int32_t id, TokenText text) {
    // Ids bound the table, so a stray huge one must not be believed.
    constexpr size_t kLargestGap = size_t{1} << 20;
    const auto at = static_cast<size_t>(id);
    if (at > known + kLargestGap)
      throw DamagedFile(
          fmt::format("tokenizer.json gives \"{}\" the id {}, though it holds only {} tokens",
                      token, id, known));
    if (at >= texts.size()) texts.resize(at + 1);
    texts[at] = std::move(text);
  };
  const bool bytes = model.spelling() == Spelling::bytes;
  for (const auto& [token, id] : model.vocabulary())
    put(token, id, {bytes ? bytes_from_alphabet(token).value_or(token) : token, true, false});
  // The content of an added token is plain text, never written in the alphabet.
  for (const AddedToken& token : added)
    put(token.content, token.id, {token.reads_as, true, token.special});
}

std::optional<int32_t> Tokenizer::Parts::id_of(std::string_view token) const {
  const auto found = added_ids.find(std::string(token));
  return found != added_ids.end() ? found->second : model.id_of(token);
}

void Tokenizer::Parts::encode_text(std::string_view text, bool begins,
                                   std::vector<int32_t>& ids) const {
  const std::string normal = normalizer.normalize(text);
  for (const TextOrToken& stretch : normalized_matcher.split(normal)) {
    if (stretch.id >= 0) {
      ids.push_back(stretch.id);
      continue;
    }
    const Pieces pieces =
        pre_tokenizer.cut(stretch.text, begins && stretch.text.data() == normal.data());
    for (const std::string_view piece : pieces.views) model.encode(piece, ids);
  }
}

Tokenizer Tokenizer::from_json(const json& tokenizer_json, const json& tokenizer_config) {
  auto parts = std::make_unique<Parts>(tokenizer_json);
  parts->read_config(tokenizer_config);
  parts->fill_token_texts();
  return Tokenizer(std::move(parts));
}

Tokenizer::Tokenizer(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

std::vector<int32_t> Tokenizer::encode(std::string_view text) const {
  std::string valid;
  if (!is_valid_utf8(text)) text = valid = replace_invalid_utf8(text);
  std::vector<int32_t> ids;
  for (const TextOrToken& stretch : parts_->raw_matcher.split(text)) {
    if (stretch.id >= 0)
      ids.push_back(stretch.id);
    else
      parts_->encode_text(stretch.text, stretch.text.data() == text.data(), ids);
  }
  return ids;
}

std::string Tokenizer::decode(std::span<const int32_t> ids, bool skip_special) const {
  std::vector<std::string> tokens;
  for (const int32_t id : ids) {
    if (id < 0 || id >= vocab_size() || !parts_->texts[static_cast<size_t>(id)].known)
      throw UserError(
          fmt::format("token id {} is not in the vocabulary of {} ids", id, vocab_size()));
    const Parts::TokenText& text = parts_->texts[static_cast<size_t>(id)];
    if (!skip_special || !text.special) tokens.push_back(text.bytes);
  }
  return replace_invalid_utf8(parts_->decoder.decode(std::move(tokens)));
}

std::string Tokenizer::text_of(int32_t id) const {
  if (id < 0 || id >= vocab_size()) return "";
  return replace_invalid_utf8(parts_->texts[static_cast<size_t>(id)].bytes);
}
std::optional<int32_t> Tokenizer::id_of(std::string_view token) const {
  return parts_->id_of(token);
}
std::optional<int32_t> Tokenizer::bos() const { return parts_->bos; }
std::optional<int32_t> Tokenizer::eos() const { return parts_->eos; }
bool Tokenizer::names_pad() const { return parts_->names_pad; }
std::optional<int32_t> Tokenizer::pad() const { return parts_->pad; }
bool Tokenizer::adds_bos() const { return parts_->adds_bos; }
int64_t Tokenizer::vocab_size() const { return static_cast<int64_t>(parts_->texts.size()); }

}  // namespace cairn
