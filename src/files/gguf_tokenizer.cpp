// tokenizer.json and tokenizer_config.json from a GGUF's vocabulary: the pipelines are those of the
// families' own tokenizer.json files, chosen by the model and pre-tokenizer that the file names.
#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "files/gguf_model.h"
#include "files/gguf_vocabulary.h"
#include "files/json_file.h"

namespace cairn {
namespace {

using nlohmann::json;

// The patterns of the families' tokenizer.json files. Of llama.cpp's names for them many mean one.
constexpr std::string_view kLlama3Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen2Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kTekkenPattern =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kO200kPattern =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

json byte_level(bool use_regex) {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", false},
          {"trim_offsets", true},
          {"use_regex", use_regex}};
}

json sequence(const char* members, json first, json second) {
  return {{"type", "Sequence"}, {members, json::array({std::move(first), std::move(second)})}};
}

json split_then_bytes(std::string_view pattern) {
  const json split = {{"type", "Split"},
                      {"pattern", {{"Regex", std::string(pattern)}}},
                      {"behavior", "Isolated"},
                      {"invert", false}};
  return sequence("pretokenizers", split, byte_level(false));
}

json digits_then_bytes() {
  const json digits = {{"type", "Digits"}, {"individual_digits", true}};
  return sequence("pretokenizers", digits, byte_level(true));
}

// What a byte-level family has beside its vocabulary.
struct Family {
  json normalizer;
  json pre_tokenizer;
  bool ignore_merges = false;
  bool add_bos = false;
};

Family family_of(const GgufFile& gguf) {
  const std::string pre =
      gguf.find("tokenizer.ggml.pre") ? gguf.text("tokenizer.ggml.pre") : std::string("(none)");
  const auto is_one_of = [&](std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), pre) != names.end();
  };
  if (is_one_of({"smollm", "starcoder", "refact", "command-r", "codeshell", "exaone"}))
    return {nullptr, digits_then_bytes()};
  if (is_one_of({"gpt-2", "gpt2", "olmo", "phi-2", "mpt", "jais"}))
    return {nullptr, byte_level(true)};
  if (is_one_of({"llama-bpe", "llama3", "llama-v3"}))
    return {nullptr, split_then_bytes(kLlama3Pattern), true, true};
  if (is_one_of({"dbrx", "smaug-bpe"})) return {nullptr, split_then_bytes(kLlama3Pattern)};
  if (is_one_of({"qwen2", "deepseek-r1-qwen", "stablelm2"}))
    return {pre == "stablelm2" ? json(nullptr) : json{{"type", "NFC"}},
            split_then_bytes(kQwen2Pattern)};
  if (pre == "tekken") return {nullptr, split_then_bytes(kTekkenPattern), true, true};
  if (pre == "gpt-4o") return {nullptr, split_then_bytes(kO200kPattern)};
  throw UserError(
      fmt::format("{} names the pre-tokenizer {}, which Cairn does not know: it knows smollm, "
                  "llama-bpe, qwen2, gpt-2, tekken, dbrx, gpt-4o and others that cut as these do. "
                  "Use the model's folder from the hub, whose tokenizer.json says how it cuts.",
                  gguf.path(), pre));
}

json added_tokens(const GgufVocabulary& vocabulary) {
  json added = json::array();
  for (size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    const TokenKind kind = vocabulary.kinds[id];
    const bool special = kind == TokenKind::control || kind == TokenKind::unknown;
    if (!special && kind != TokenKind::user_defined) continue;
    added.push_back({{"id", id},
                     {"content", vocabulary.tokens[id]},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", special}});
  }
  return added;
}

json special_piece(const std::string& token) {
  return {{"SpecialToken", {{"id", token}, {"type_id", 0}}}};
}

// Puts begin and end tokens around a text, as the file asks; null when it asks for neither.
json template_of(const GgufVocabulary& vocabulary, bool add_bos, bool add_eos) {
  json single = json::array(), pair = json::array(), special = json::object();
  const auto add_special = [&](const std::optional<int64_t>& id) {
    const std::string token = vocabulary.text_of(id);
    single.push_back(special_piece(token));
    special[token] = {{"id", token}, {"ids", {*id}}, {"tokens", {token}}};
  };
  if (add_bos) add_special(vocabulary.bos);
  single.push_back({{"Sequence", {{"id", "A"}, {"type_id", 0}}}});
  if (add_eos) add_special(vocabulary.eos);
  if (special.empty()) return nullptr;
  pair = single;
  for (json piece : single) {
    if (piece.contains("Sequence")) piece["Sequence"]["id"] = "B";
    piece.front()["type_id"] = 1;
    pair.push_back(piece);
  }
  return {{"type", "TemplateProcessing"},
          {"single", single},
          {"pair", pair},
          {"special_tokens", special}};
}

// Every merge's two parts and their union must be tokens.
std::vector<std::string> checked_merges(const GgufFile& gguf, const GgufVocabulary& vocabulary) {
  std::vector<std::string> merges = read_gguf_strings(gguf, "tokenizer.ggml.merges");
  for (const std::string& merge : merges) {
    const size_t space = merge.find(' ', 1);
    const bool split = space != std::string::npos && space + 1 < merge.size() &&
                       merge.find(' ', space + 1) == std::string::npos;
    if (!split)
      throw DamagedFile(fmt::format("{} has the merge \"{}\", which is not two tokens and a space.",
                                    gguf.path(), merge));
    const std::string left = merge.substr(0, space), right = merge.substr(space + 1);
    for (const std::string& token : {left, right, left + right})
      if (!vocabulary.ids.contains(token))
        throw DamagedFile(
            fmt::format("{} has the merge \"{}\", but \"{}\" is not in its vocabulary.",
                        gguf.path(), merge, token));
  }
  return merges;
}

json bpe_model(const GgufVocabulary& vocabulary, json merges) {
  return {{"type", "BPE"},
          {"dropout", nullptr},
          {"unk_token", nullptr},
          {"continuing_subword_prefix", nullptr},
          {"end_of_word_suffix", nullptr},
          {"fuse_unk", false},
          {"byte_fallback", false},
          {"ignore_merges", false},
          {"vocab", vocabulary.ids},
          {"merges", std::move(merges)}};
}

json assemble(const GgufVocabulary& vocabulary, json normalizer, json pre_tokenizer,
              json post_processor, json decoder, json model) {
  return {{"version", "1.0"},
          {"truncation", nullptr},
          {"padding", nullptr},
          {"added_tokens", added_tokens(vocabulary)},
          {"normalizer", std::move(normalizer)},
          {"pre_tokenizer", std::move(pre_tokenizer)},
          {"post_processor", std::move(post_processor)},
          {"decoder", std::move(decoder)},
          {"model", std::move(model)}};
}

struct Ends {
  bool bos, eos;
};

Ends ends_of(const GgufFile& gguf, const GgufVocabulary& vocabulary, bool family_adds_bos) {
  return {vocabulary.bos && gguf.flag("tokenizer.ggml.add_bos_token", family_adds_bos),
          vocabulary.eos && gguf.flag("tokenizer.ggml.add_eos_token", false)};
}

json byte_level_tokenizer(const GgufFile& gguf, const GgufVocabulary& vocabulary, Ends& ends) {
  Family family = family_of(gguf);
  ends = ends_of(gguf, vocabulary, family.add_bos);
  json model = bpe_model(vocabulary, checked_merges(gguf, vocabulary));
  model["ignore_merges"] = family.ignore_merges;
  const json around = template_of(vocabulary, ends.bos, ends.eos);
  const json bytes = byte_level(true);
  return assemble(vocabulary, std::move(family.normalizer), std::move(family.pre_tokenizer),
                  around.is_null() ? bytes : sequence("processors", bytes, around), bytes,
                  std::move(model));
}

// SentencePiece scores as merges: a token is merged from any two tokens that spell it, the best
// score first. Source: transformers' generate_merges (convert_slow_tokenizer).
json merges_of_scores(const GgufVocabulary& vocabulary, const std::string& path) {
  // Every cut of every token is looked at. Real tokens have some hundred bytes at most.
  constexpr size_t kLongestToken = 1024;
  constexpr size_t kMostMergeBytes = size_t{256} << 20;
  size_t bytes = 0;
  struct Merge {
    double score;
    size_t left, right;
    std::string text;
  };
  std::vector<Merge> merges;
  for (size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    const TokenKind kind = vocabulary.kinds[id];
    if (kind != TokenKind::normal && kind != TokenKind::user_defined) continue;
    const std::string& token = vocabulary.tokens[id];
    if (token.size() > kLongestToken)
      throw DamagedFile(fmt::format("{} has a token of {} bytes ({}), where {} is the most.", path,
                                    token.size(), id, kLongestToken));
    for (size_t cut = 1; cut < token.size(); ++cut) {
      if ((static_cast<unsigned char>(token[cut]) & 0xc0) == 0x80) continue;  // inside a character
      const auto left = vocabulary.ids.find(token.substr(0, cut));
      const auto right = vocabulary.ids.find(token.substr(cut));
      if (left == vocabulary.ids.end() || right == vocabulary.ids.end()) continue;
      if ((bytes += token.size()) > kMostMergeBytes)
        throw DamagedFile(fmt::format(
            "{} has tokens that are cut into others in more ways than any vocabulary.", path));
      merges.push_back({vocabulary.scores[id], left->get<size_t>(), right->get<size_t>(),
                        token.substr(0, cut) + " " + token.substr(cut)});
    }
  }
  std::sort(merges.begin(), merges.end(), [](const Merge& a, const Merge& b) {
    return std::tuple(-a.score, a.left, a.right) < std::tuple(-b.score, b.left, b.right);
  });
  json list = json::array();
  for (Merge& merge : merges) list.push_back(std::move(merge.text));
  return list;
}

json sentencepiece_tokenizer(const GgufFile& gguf, const GgufVocabulary& vocabulary, Ends& ends) {
  if (vocabulary.scores.empty())
    throw DamagedFile(
        fmt::format("{} has no tokenizer.ggml.scores, which its tokenizer needs.", gguf.path()));
  constexpr const char* kSpace = "\u2581";
  ends = ends_of(gguf, vocabulary, true);
  json model = bpe_model(vocabulary, merges_of_scores(vocabulary, gguf.path()));
  model["byte_fallback"] = true;
  model["fuse_unk"] = true;
  if (vocabulary.unknown) model["unk_token"] = vocabulary.text_of(vocabulary.unknown);
  const bool prefix = gguf.flag("tokenizer.ggml.add_space_prefix", true);
  const json replace = {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", kSpace}};
  const json prepend = {{"type", "Prepend"}, {"prepend", kSpace}};
  json decoders =
      json::array({json{{"type", "Replace"}, {"pattern", {{"String", kSpace}}}, {"content", " "}},
                   json{{"type", "ByteFallback"}}, json{{"type", "Fuse"}}});
  if (prefix) decoders.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  return assemble(vocabulary, prefix ? sequence("normalizers", prepend, replace) : replace, nullptr,
                  template_of(vocabulary, ends.bos, ends.eos),
                  {{"type", "Sequence"}, {"decoders", decoders}}, std::move(model));
}

json tokenizer_config_of(const GgufFile& gguf, const GgufVocabulary& vocabulary, Ends ends) {
  json config = {{"tokenizer_class", "PreTrainedTokenizerFast"},
                 {"clean_up_tokenization_spaces", false},
                 {"add_bos_token", ends.bos},
                 {"add_eos_token", ends.eos}};
  for (const auto& [name, id] :
       {std::pair{"bos_token", vocabulary.bos}, std::pair{"eos_token", vocabulary.eos},
        std::pair{"unk_token", vocabulary.unknown}, std::pair{"pad_token", vocabulary.padding}})
    if (id) config[name] = vocabulary.text_of(id);
  if (gguf.find("tokenizer.chat_template")) {
    const std::string text = gguf.text("tokenizer.chat_template");
    config["chat_template"] = text;
  }
  const std::string length = gguf.text("general.architecture") + ".context_length";
  if (gguf.find(length)) config["model_max_length"] = gguf.count(length);
  return config;
}

}  // namespace

TokenizerFiles make_gguf_tokenizer(const GgufFile& gguf) {
  if (!gguf.find("tokenizer.ggml.tokens")) return {};
  const GgufVocabulary vocabulary = read_gguf_vocabulary(gguf);
  const std::string model = gguf.text("tokenizer.ggml.model");
  TokenizerFiles files;
  Ends ends{};
  if (model == "gpt2")
    files.tokenizer = byte_level_tokenizer(gguf, vocabulary, ends);
  else if (model == "llama")
    files.tokenizer = sentencepiece_tokenizer(gguf, vocabulary, ends);
  else
    throw UserError(
        fmt::format("{} has a tokenizer of the kind {}, which Cairn does not know: it knows "
                    "gpt2 (byte-level BPE) and llama (SentencePiece BPE).",
                    gguf.path(), model));
  // The original file, when the converter kept it, is better than any reconstruction.
  if (gguf.find("tokenizer.huggingface.json"))
    files.tokenizer = parse_json(gguf.text("tokenizer.huggingface.json"),
                                 gguf.path() + " (tokenizer.huggingface.json)");
  files.tokenizer_config = tokenizer_config_of(gguf, vocabulary, ends);
  return files;
}

}  // namespace cairn
