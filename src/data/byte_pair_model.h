// BytePairModel: a BPE vocabulary and its merges. A piece begins as single bytes, or as single
// characters where the vocabulary is one of characters (SentencePiece); the adjacent pair of lowest
// rank merges first, the leftmost of equals, until none is left. Costs n log n in the length of a
// piece; short pieces are remembered.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "data/merge_table.h"

namespace cairn {

// What a vocabulary spells: bytes in the alphabet of byte_level.h, or characters as they are.
enum class Spelling : uint8_t { bytes, characters };

class BytePairModel {
 public:
  // Of the field `model`. Throws UserError for what is not built, DamagedFile for merges that the
  // vocabulary does not hold.
  BytePairModel(const nlohmann::json& description, Spelling spelling);
  BytePairModel(BytePairModel&&) noexcept;
  BytePairModel& operator=(BytePairModel&&) noexcept;
  ~BytePairModel();

  // Appends the ids of a piece of valid UTF-8. A byte or character that the vocabulary lacks
  // becomes, with byte_fallback, a token for each of its bytes; else the unknown token, and it
  // vanishes where there is none, as in the Hugging Face library.
  void encode(std::string_view piece, std::vector<int32_t>& ids) const;

  // By the token as the file writes it.
  std::optional<int32_t> id_of(std::string_view token) const;
  const std::unordered_map<std::string, int32_t>& vocabulary() const { return vocabulary_; }
  Spelling spelling() const { return spelling_; }

 private:
  struct Cache;
  struct Symbol;
  void read_flags(const nlohmann::json& description);
  void read_vocabulary(const nlohmann::json& vocabulary);
  void read_merges(const nlohmann::json& merges);
  void add_merge(uint32_t rank, const std::string& left, const std::string& right);
  void read_byte_tokens();
  std::vector<Symbol> symbols_of(std::string_view piece) const;
  void merge(std::string_view piece, std::vector<int32_t>& ids) const;

  Spelling spelling_;
  std::unordered_map<std::string, int32_t> vocabulary_;  // as the file writes it -> id
  std::unordered_map<std::string, int32_t> whole_;       // raw bytes -> id, for ignore_merges
  // Of each byte: spelled by the alphabet, or written <0x0A>; -1 where the vocabulary has none.
  int32_t byte_ids_[256];
  bool byte_fallback_ = false;  // characters that are lacking fall apart into bytes
  std::optional<int32_t> unknown_;
  bool fuse_unknown_ = false;
  bool ignore_merges_ = false;
  MergeTable merges_{0};
  std::unique_ptr<Cache> cache_;
};

}  // namespace cairn
