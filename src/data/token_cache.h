// TokenCache: a folder of token stores, each under a name that is a hash of everything its tokens
// come from, so that what was tokenised once is not again. Any file of it may be deleted at any
// time. Where the folder cannot be written, a store lives in a file without a name.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "base/content_hash.h"
#include "data/token_store.h"

namespace cairn {

class TokenCache {
 public:
  // `reads` false: what is there is made again.
  explicit TokenCache(std::filesystem::path folder = default_folder(), bool reads = true)
      : folder_(std::move(folder)), reads_(reads) {}

  // $CAIRN_CACHE, else cairn in $XDG_CACHE_HOME or ~/.cache.
  static std::filesystem::path default_folder();

  // The store of that key: an earlier one, or what `fill` writes and finishes now.
  std::shared_ptr<const TokenStore> open(const std::string& key,
                                         const std::function<void(TokenStoreWriter&)>& fill) const;

 private:
  std::filesystem::path folder_;
  bool reads_;
};

// Adds the whole contents of a file to the hash.
void add_contents(ContentHash& hash, const std::filesystem::path& path);

}  // namespace cairn
