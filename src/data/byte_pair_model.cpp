// Reading a BPE model and merging pieces with it.
#include "data/byte_pair_model.h"

#include <algorithm>
#include <mutex>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "data/byte_level.h"
#include "data/json_field.h"
#include "data/utf8.h"

namespace cairn {

using nlohmann::json;

namespace {

constexpr const char* kWhere = "tokenizer.json: model";
constexpr size_t kLongestRemembered = 64;  // bytes
constexpr size_t kMostRemembered = 1 << 17;

// A pair that may merge; stale once either side has changed, which its rank then betrays.
struct Candidate {
  uint32_t rank;
  int32_t left;
  bool operator>(const Candidate& other) const {
    return rank != other.rank ? rank > other.rank : left > other.left;
  }
};

struct TransparentHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};

}  // namespace

// One symbol of a piece being merged: a doubly linked list over an array.
struct BytePairModel::Symbol {
  int32_t id;
  int32_t previous;
  int32_t next;
};

struct BytePairModel::Cache {
  std::mutex mutex;
  std::unordered_map<std::string, std::vector<int32_t>, TransparentHash, std::equal_to<>> ids;
};

BytePairModel::BytePairModel(const json& description, Spelling spelling)
    : spelling_(spelling), cache_(std::make_unique<Cache>()) {
  read_vocabulary(field_of(description, "vocab", kWhere));
  read_flags(description);
  read_merges(field_of(description, "merges", kWhere));
}

BytePairModel::BytePairModel(BytePairModel&&) noexcept = default;
BytePairModel& BytePairModel::operator=(BytePairModel&&) noexcept = default;
BytePairModel::~BytePairModel() = default;

void BytePairModel::read_vocabulary(const json& vocabulary) {
  if (!vocabulary.is_object() || vocabulary.empty())
    throw DamagedFile(fmt::format("{}: `vocab` should be an object of token and id, but is {}",
                                  kWhere, vocabulary.is_object() ? "empty" : "something else"));
  vocabulary_.reserve(vocabulary.size());
  for (const auto& [token, value] : vocabulary.items())
    vocabulary_.emplace(token, id_from(value, kWhere));
  read_byte_tokens();
}

void BytePairModel::read_byte_tokens() {
  std::fill(std::begin(byte_ids_), std::end(byte_ids_), -1);
  if (spelling_ == Spelling::characters) {
    for (int byte = 0; byte < 256; ++byte)
      if (const auto id = id_of(fmt::format("<0x{:02X}>", byte))) byte_ids_[byte] = *id;
    return;
  }
  for (const auto& [token, id] : vocabulary_) {
    const auto bytes = bytes_from_alphabet(token);
    if (bytes && bytes->size() == 1) byte_ids_[static_cast<unsigned char>((*bytes)[0])] = id;
  }
}

void BytePairModel::read_flags(const json& description) {
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"})
    if (!string_field(description, key, "", kWhere).empty())
      throw UserError(
          fmt::format("{}: `{}` is not built; built is BPE without marks at the borders of words",
                      kWhere, key));
  const json& dropout = field_of(description, "dropout", kWhere);
  if (!dropout.is_null() && dropout != 0)
    throw UserError(
        fmt::format("{}: `dropout` {} would make token ids random, which is not built; "
                    "set it to null",
                    kWhere, dropout.dump()));
  const bool complete =
      std::find(std::begin(byte_ids_), std::end(byte_ids_), -1) == std::end(byte_ids_);
  byte_fallback_ = bool_field(description, "byte_fallback", false, kWhere);
  if (byte_fallback_ && !complete && spelling_ == Spelling::bytes)
    throw UserError(
        fmt::format("{}: `byte_fallback` is not built for byte-level BPE that lacks "
                    "bytes",
                    kWhere));
  const std::string unknown = string_field(description, "unk_token", "", kWhere);
  if (!unknown.empty() && !(unknown_ = id_of(unknown)))
    throw DamagedFile(fmt::format("{}: `vocab` lacks the unk_token \"{}\"", kWhere, unknown));
  fuse_unknown_ = bool_field(description, "fuse_unk", false, kWhere);
  ignore_merges_ = bool_field(description, "ignore_merges", false, kWhere);
  if (!ignore_merges_) return;
  for (const auto& [token, id] : vocabulary_) {
    auto bytes = spelling_ == Spelling::bytes ? bytes_from_alphabet(token) : token;
    if (bytes) whole_.emplace(std::move(*bytes), id);
  }
}

void BytePairModel::read_merges(const json& merges) {
  if (!merges.is_array())
    throw DamagedFile(
        fmt::format("{}: `merges` should be a list, but is a JSON {}", kWhere, merges.type_name()));
  merges_ = MergeTable(merges.size());
  uint32_t rank = 0;
  for (const json& entry : merges) {
    if (entry.is_array() && entry.size() == 2 && entry[0].is_string() && entry[1].is_string()) {
      add_merge(rank++, entry[0].get_ref<const std::string&>(),
                entry[1].get_ref<const std::string&>());
      continue;
    }
    const std::string text = entry.is_string() ? entry.get<std::string>() : "";
    const size_t space = text.find(' ');
    if (space == text.npos || text.find(' ', space + 1) != text.npos)
      throw DamagedFile(fmt::format(
          "{}: `merges` entry {} should be \"left right\" with one space, or a pair [left, right], "
          "but is {}",
          kWhere, rank, entry.dump()));
    add_merge(rank++, text.substr(0, space), text.substr(space + 1));
  }
}

void BytePairModel::add_merge(uint32_t rank, const std::string& left, const std::string& right) {
  const auto known_id = [&](const std::string& token) {
    const auto id = id_of(token);
    if (!id)
      throw DamagedFile(
          fmt::format("{}: `merges` entry {} joins \"{}\" and \"{}\", but `vocab` "
                      "lacks \"{}\"",
                      kWhere, rank, left, right, token));
    return *id;
  };
  const int32_t left_id = known_id(left), right_id = known_id(right);
  merges_.add(left_id, right_id, {rank, known_id(left + right)});
}

std::optional<int32_t> BytePairModel::id_of(std::string_view token) const {
  const auto found = vocabulary_.find(std::string(token));
  if (found == vocabulary_.end()) return std::nullopt;
  return found->second;
}

void BytePairModel::encode(std::string_view piece, std::vector<int32_t>& ids) const {
  if (ignore_merges_) {
    const auto found = whole_.find(std::string(piece));
    if (found != whole_.end()) {
      ids.push_back(found->second);
      return;
    }
  }
  if (piece.size() > kLongestRemembered) return merge(piece, ids);
  {
    const std::lock_guard lock(cache_->mutex);
    const auto found = cache_->ids.find(piece);
    if (found != cache_->ids.end()) {
      ids.insert(ids.end(), found->second.begin(), found->second.end());
      return;
    }
  }
  const size_t before = ids.size();
  merge(piece, ids);
  const std::lock_guard lock(cache_->mutex);
  if (cache_->ids.size() < kMostRemembered)
    cache_->ids.emplace(
        piece, std::vector<int32_t>(ids.begin() + static_cast<ptrdiff_t>(before), ids.end()));
}

std::vector<BytePairModel::Symbol> BytePairModel::symbols_of(std::string_view piece) const {
  std::vector<Symbol> symbols;
  symbols.reserve(piece.size());
  const auto push = [&](int32_t id) {
    const auto at = static_cast<int32_t>(symbols.size());
    symbols.push_back({id, at - 1, at + 1});
  };
  while (!piece.empty()) {
    const size_t bytes = spelling_ == Spelling::bytes ? 1 : first_code_point(piece).bytes;
    const std::string_view unit = piece.substr(0, bytes);
    piece.remove_prefix(bytes);
    if (spelling_ == Spelling::characters) {
      if (const auto id = id_of(unit)) {
        push(*id);
        continue;
      }
    }
    const auto byte_id = [&](char byte) { return byte_ids_[static_cast<unsigned char>(byte)]; };
    if (spelling_ == Spelling::bytes || byte_fallback_) {
      if (std::all_of(unit.begin(), unit.end(), [&](char byte) { return byte_id(byte) >= 0; })) {
        for (const char byte : unit) push(byte_id(byte));
        continue;
      }
    }
    if (!unknown_ || (fuse_unknown_ && !symbols.empty() && symbols.back().id == *unknown_))
      continue;
    push(*unknown_);
  }
  if (!symbols.empty()) symbols.back().next = -1;
  return symbols;
}

void BytePairModel::merge(std::string_view piece, std::vector<int32_t>& ids) const {
  std::vector<Symbol> symbols = symbols_of(piece);
  if (symbols.empty()) return;

  std::vector<Candidate> heap;
  const auto pair_at = [&](int32_t left) {
    const int32_t right = symbols[static_cast<size_t>(left)].next;
    return right < 0 ? Merge()
                     : merges_.find(symbols[static_cast<size_t>(left)].id,
                                    symbols[static_cast<size_t>(right)].id);
  };
  const auto offer = [&](int32_t left) {
    if (left < 0) return;
    const Merge pair = pair_at(left);
    if (pair.rank == Merge::kNone) return;
    heap.push_back({pair.rank, left});
    std::push_heap(heap.begin(), heap.end(), std::greater<>());
  };
  heap.reserve(symbols.size());
  for (int32_t left = 0; left < static_cast<int32_t>(symbols.size()); ++left) offer(left);
  while (!heap.empty()) {
    const Candidate best = heap.front();
    std::pop_heap(heap.begin(), heap.end(), std::greater<>());
    heap.pop_back();
    Symbol& left = symbols[static_cast<size_t>(best.left)];
    if (left.id < 0) continue;
    const Merge pair = pair_at(best.left);
    if (pair.rank != best.rank) continue;
    Symbol& right = symbols[static_cast<size_t>(left.next)];
    left.id = pair.id;
    left.next = right.next;
    right.id = -1;
    if (left.next >= 0) symbols[static_cast<size_t>(left.next)].previous = best.left;
    offer(best.left);
    offer(left.previous);
  }
  for (int32_t at = 0; at >= 0; at = symbols[static_cast<size_t>(at)].next)
    ids.push_back(symbols[static_cast<size_t>(at)].id);
}

}  // namespace cairn
