#include "data/token_cache.h"

#include <unistd.h>

#include <cstdlib>
#include <span>
#include <vector>

#include "base/error.h"

namespace cairn {
namespace {

namespace fs = std::filesystem;

std::string text_of_variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// Only for this run: its name goes as soon as it is open.
std::shared_ptr<const TokenStore> open_nameless(
    const std::string& key, const std::function<void(TokenStoreWriter&)>& fill) {
  const fs::path path =
      fs::temp_directory_path() / fmt::format("cairn-{}-{}.tokens", ::getpid(), key);
  {
    TokenStoreWriter writer(path.string());
    fill(writer);
  }
  auto store = std::make_shared<const TokenStore>(path.string());
  std::error_code ignored;
  fs::remove(path, ignored);
  return store;
}

}  // namespace

fs::path TokenCache::default_folder() {
  if (const std::string own = text_of_variable("CAIRN_CACHE"); !own.empty())
    return fs::path(own) / "tokens";
  if (const std::string xdg = text_of_variable("XDG_CACHE_HOME"); !xdg.empty())
    return fs::path(xdg) / "cairn" / "tokens";
  if (const std::string home = text_of_variable("HOME"); !home.empty())
    return fs::path(home) / ".cache" / "cairn" / "tokens";
  return {};
}

std::shared_ptr<const TokenStore> TokenCache::open(
    const std::string& key, const std::function<void(TokenStoreWriter&)>& fill) const {
  const fs::path path = folder_ / (key + ".tokens");
  std::error_code ignored;
  if (reads_ && !folder_.empty() && fs::exists(path, ignored)) {
    try {
      return std::make_shared<const TokenStore>(path.string());
    } catch (const DamagedFile&) {
      // Made again below.
    }
  }
  bool usable = !folder_.empty();
  if (usable) {
    fs::create_directories(folder_, ignored);
    usable = ::access(folder_.c_str(), W_OK) == 0;
  }
  if (!usable) return open_nameless(key, fill);
  {
    TokenStoreWriter writer(path.string());
    fill(writer);
  }
  return std::make_shared<const TokenStore>(path.string());
}

void add_contents(ContentHash& hash, const fs::path& path) {
  const InputFile file(path.string());
  std::vector<char> buffer(size_t{1} << 20);
  hash.add(file.size());
  for (int64_t at = 0; at < file.size();) {
    const auto bytes = std::min<int64_t>(static_cast<int64_t>(buffer.size()), file.size() - at);
    file.read(at, std::as_writable_bytes(std::span(buffer.data(), static_cast<size_t>(bytes))));
    hash.add(std::string_view(buffer.data(), static_cast<size_t>(bytes)));
    at += bytes;
  }
}

}  // namespace cairn
