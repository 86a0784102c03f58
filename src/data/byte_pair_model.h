// BytePairModel: a byte-level BPE vocabulary and its merges. A piece begins as single bytes; the
// adjacent pair of lowest rank merges first, the leftmost of equals, until none is left. Costs
// n log n in the length of a piece; short pieces are remembered.
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

class BytePairModel {
 public:
  // Of the field `model`. Throws UserError for what is not built, DamagedFile for merges that the
  // vocabulary does not hold.
  explicit BytePairModel(const nlohmann::json& description);
  BytePairModel(BytePairModel&&) noexcept;
  BytePairModel& operator=(BytePairModel&&) noexcept;
  ~BytePairModel();

  // Appends the ids of a piece of raw bytes. A byte that the vocabulary lacks becomes the unknown
  // token, and vanishes where there is none, as in the Hugging Face library.
  void encode(std::string_view piece, std::vector<int32_t>& ids) const;

  // By the token as the file writes it.
  std::optional<int32_t> id_of(std::string_view token) const;
  const std::unordered_map<std::string, int32_t>& vocabulary() const { return vocabulary_; }

 private:
  struct Cache;
  void read_flags(const nlohmann::json& description);
  void read_vocabulary(const nlohmann::json& vocabulary);
  void read_merges(const nlohmann::json& merges);
  void add_merge(uint32_t rank, const std::string& left, const std::string& right);
  void merge(std::string_view piece, std::vector<int32_t>& ids) const;

  std::unordered_map<std::string, int32_t> vocabulary_;  // as the file writes it -> id
  std::unordered_map<std::string, int32_t> whole_;       // raw bytes -> id, for ignore_merges
  int32_t byte_ids_[256];                                // -1 where the vocabulary has none
  std::optional<int32_t> unknown_;
  bool fuse_unknown_ = false;
  bool ignore_merges_ = false;
  MergeTable merges_{0};
  std::unique_ptr<Cache> cache_;
};

}  // namespace cairn
