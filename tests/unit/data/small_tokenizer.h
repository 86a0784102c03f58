// A byte-level tokenizer.json small enough to check by eye: the 256 bytes as ids 0..255, a few
// merges from 256 on, and the special tokens of the chat templates after them.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "data/tokenizer.h"

namespace cairn::test {

using nlohmann::json;

// The character of the byte-level alphabet for a byte, written out from the rule itself.
inline std::string alphabet_character(int byte) {
  const auto stays = [](int b) {
    return (b >= 0x21 && b <= 0x7E) || (b >= 0xA1 && b <= 0xAC) || (b >= 0xAE && b <= 0xFF);
  };
  int point = byte;
  if (!stays(byte)) {
    point = 0x100;
    for (int b = 0; b < byte; ++b) point += !stays(b);
  }
  if (point < 0x80) return std::string(1, static_cast<char>(point));
  return {static_cast<char>(0xC0 | (point >> 6)), static_cast<char>(0x80 | (point & 0x3F))};
}

inline const std::vector<std::pair<std::string, std::string>>& small_merges() {
  static const std::vector<std::pair<std::string, std::string>> kMerges = {
      {"l", "l"}, {"h", "e"}, {"he", "ll"}, {"hell", "o"},
      {"a", "a"}, {"Ġ", "w"}, {"b", "c"},   {"a", "b"}};
  return kMerges;
}

inline const std::vector<std::string>& small_specials() {
  static const std::vector<std::string> kSpecials = {
      "<|endoftext|>",       "<|im_start|>",      "<|im_end|>", "<|begin_of_text|>",
      "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"};
  return kSpecials;
}

constexpr int32_t kFirstMerge = 256;
constexpr int32_t kFirstSpecial = 264;

inline json small_tokenizer_json() {
  json vocab = json::object(), merges = json::array(), added = json::array();
  for (int byte = 0; byte < 256; ++byte) vocab[alphabet_character(byte)] = byte;
  int32_t id = kFirstMerge;
  for (const auto& [left, right] : small_merges()) {
    merges.push_back(left + " " + right);
    vocab[left + right] = id++;
  }
  for (const std::string& special : small_specials())
    added.push_back({{"id", id++}, {"content", special}, {"normalized", false}, {"special", true}});
  return {{"version", "1.0"},
          {"added_tokens", added},
          {"normalizer", nullptr},
          {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}},
          {"decoder", {{"type", "ByteLevel"}}},
          {"model", {{"type", "BPE"}, {"vocab", vocab}, {"merges", merges}}}};
}

inline json small_tokenizer_config() {
  return {{"bos_token", "<|begin_of_text|>"}, {"eos_token", {{"content", "<|endoftext|>"}}}};
}

inline Tokenizer small_tokenizer() {
  return Tokenizer::from_json(small_tokenizer_json(), small_tokenizer_config());
}

// The ids of bytes that no merge touches.
inline std::vector<int32_t> byte_ids(const std::string& text) {
  std::vector<int32_t> ids;
  for (const char c : text) ids.push_back(static_cast<unsigned char>(c));
  return ids;
}

using Ids = std::vector<int32_t>;

inline Ids joined(const std::vector<Ids>& parts) {
  Ids ids;
  for (const Ids& part : parts) ids.insert(ids.end(), part.begin(), part.end());
  return ids;
}

}  // namespace cairn::test
