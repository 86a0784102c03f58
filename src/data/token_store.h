// TokenStore: tokenised examples in one file, written once from beginning to end and read one by
// one, so that neither text nor tokens need fit in memory: an example costs 24 bytes of index. A
// file that was cut short or changed is known before, or when, it is read.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "data/example.h"
#include "files/atomic_file.h"
#include "files/input_file.h"

namespace cairn {

struct StoredExample {
  uint64_t offset = 0;  // bytes into the file: ids, then labels
  uint32_t tokens = 0;
  uint32_t trained_labels : 31 = 0;
  uint32_t truncated : 1 = 0;
  uint32_t checksum = 0;
  uint32_t record = 0;  // of its data set, from 1; 0: not one
};

class TokenStoreWriter {
 public:
  // Throws UserError when the file cannot be written.
  explicit TokenStoreWriter(const std::string& path);
  void append(const Example& example, bool truncated);
  // Puts index and `about` behind the examples and gives the file its name.
  void finish(const nlohmann::json& about);

 private:
  void flush();

  AtomicFile file_;
  std::vector<std::byte> buffer_;
  std::vector<StoredExample> index_;
  uint64_t written_ = 0;  // bytes, with the buffer
};

class TokenStore {
 public:
  // Throws DamagedFile when it is no whole store.
  explicit TokenStore(const std::string& path);

  int64_t size() const { return static_cast<int64_t>(index_.size()); }
  const StoredExample& at(int64_t i) const { return index_[static_cast<size_t>(i)]; }
  // May be called from several threads. Throws DamagedFile when its bytes were changed.
  Example read(int64_t i) const;
  // What finish() was given.
  const nlohmann::json& about() const { return about_; }
  const std::string& path() const { return file_.path(); }

 private:
  InputFile file_;
  std::vector<StoredExample> index_;
  nlohmann::json about_;
};

}  // namespace cairn
