// The file: a magic word, the examples, the index (16 bytes an example), a JSON text, and a footer
// that says how much there is of each.
#include "data/token_store.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "base/content_hash.h"
#include "base/error.h"

namespace cairn {
namespace {

constexpr std::string_view kMagic = "CairnTok";
constexpr uint32_t kFormat = 2;
constexpr size_t kBufferBytes = size_t{1} << 20;

struct IndexEntry {
  uint32_t tokens, trained_and_truncated, checksum, record;
};

struct Footer {
  char magic[8];
  uint64_t format;
  uint64_t examples;
  uint64_t example_bytes;
  uint64_t about_bytes;
  uint64_t checksum;  // of index and about
};

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
template <typename T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

uint32_t checksum_of(const Example& example) {
  return static_cast<uint32_t>(ContentHash()
                                   .add(text_of(bytes_of(example.ids)))
                                   .add(text_of(bytes_of(example.labels)))
                                   .word());
}

uint64_t checksum_of(const std::vector<IndexEntry>& index, std::string_view about) {
  return ContentHash().add(text_of(bytes_of(index))).add(about).word();
}

void add_bytes(std::vector<std::byte>& buffer, std::span<const std::byte> bytes) {
  const size_t before = buffer.size();
  buffer.resize(before + bytes.size());
  std::ranges::copy(bytes, buffer.begin() + static_cast<std::ptrdiff_t>(before));
}

}  // namespace

TokenStoreWriter::TokenStoreWriter(const std::string& path) : file_(path) {
  add_bytes(buffer_, std::as_bytes(std::span(kMagic)));
  written_ = kMagic.size();
}

void TokenStoreWriter::append(const Example& example, bool truncated) {
  StoredExample entry;
  entry.tokens = static_cast<uint32_t>(example.tokens());
  entry.trained_labels = static_cast<uint32_t>(example.trained_labels()) & 0x7FFFFFFF;
  entry.truncated = truncated ? 1 : 0;
  entry.checksum = checksum_of(example);
  entry.record = static_cast<uint32_t>(example.origin.record);
  index_.push_back(entry);
  add_bytes(buffer_, bytes_of(example.ids));
  add_bytes(buffer_, bytes_of(example.labels));
  written_ += 8 * example.ids.size();
  if (buffer_.size() >= kBufferBytes) flush();
}

void TokenStoreWriter::flush() {
  file_.append(buffer_);
  buffer_.clear();
}

void TokenStoreWriter::finish(const nlohmann::json& about) {
  const std::string text = about.dump();
  std::vector<IndexEntry> index;
  index.reserve(index_.size());
  for (const StoredExample& entry : index_)
    index.push_back({entry.tokens, uint32_t{entry.trained_labels} | uint32_t{entry.truncated} << 31,
                     entry.checksum, entry.record});
  Footer footer{
      {}, kFormat, index.size(), written_ - kMagic.size(), text.size(), checksum_of(index, text)};
  std::memcpy(footer.magic, kMagic.data(), kMagic.size());
  flush();
  file_.append(bytes_of(index));
  file_.append(std::as_bytes(std::span(text)));
  file_.append(std::as_bytes(std::span(&footer, 1)));
  file_.commit();
}

TokenStore::TokenStore(const std::string& path) : file_(path) {
  const auto refuse = [&](const char* what) {
    throw DamagedFile(fmt::format(
        "{} is not a whole file of tokens: {}; delete it, and it is made again", path, what));
  };
  const auto size = static_cast<uint64_t>(file_.size());
  Footer footer{};
  if (size < sizeof footer + kMagic.size()) refuse("it is too short");
  file_.read(static_cast<int64_t>(size - sizeof footer),
             std::as_writable_bytes(std::span(&footer, 1)));
  if (std::string_view(footer.magic, 8) != kMagic) refuse("it ends in something else");
  if (footer.format != kFormat) refuse("another version of Cairn wrote it");
  // Each is held to what is left before any is added to another.
  const uint64_t body = size - sizeof footer - kMagic.size();
  if (footer.examples > body / sizeof(IndexEntry) || footer.about_bytes > body ||
      footer.example_bytes > body ||
      footer.examples * sizeof(IndexEntry) + footer.about_bytes + footer.example_bytes != body)
    refuse("its size is not what its end says");
  std::vector<IndexEntry> index(footer.examples);
  std::string about(footer.about_bytes, '\0');
  const uint64_t index_at = kMagic.size() + footer.example_bytes;
  file_.read(static_cast<int64_t>(index_at), std::as_writable_bytes(std::span(index)));
  file_.read(static_cast<int64_t>(index_at + index.size() * sizeof(IndexEntry)),
             std::as_writable_bytes(std::span(about)));
  if (checksum_of(index, about) != footer.checksum) refuse("its index was changed");
  about_ = nlohmann::json::parse(about, nullptr, false);
  uint64_t offset = kMagic.size();
  index_.reserve(index.size());
  for (const IndexEntry& entry : index) {
    StoredExample stored;
    stored.offset = offset;
    stored.tokens = entry.tokens;
    stored.trained_labels = entry.trained_and_truncated & 0x7FFFFFFF;
    stored.truncated = entry.trained_and_truncated >> 31;
    stored.checksum = entry.checksum;
    stored.record = entry.record;
    index_.push_back(stored);
    offset += uint64_t{8} * entry.tokens;
  }
  if (offset != index_at) refuse("its index and its examples differ");
}

Example TokenStore::read(int64_t i) const {
  CAIRN_CHECK(i >= 0 && i < size(), "[token_store] wanted an example below {}, got {}", size(), i);
  const StoredExample& entry = at(i);
  Example example;
  example.ids.resize(entry.tokens);
  example.labels.resize(entry.tokens);
  example.origin.record = entry.record;
  const auto offset = static_cast<int64_t>(entry.offset);
  file_.read(offset, std::as_writable_bytes(std::span(example.ids)));
  file_.read(offset + 4 * int64_t{entry.tokens}, std::as_writable_bytes(std::span(example.labels)));
  if (checksum_of(example) != entry.checksum)
    throw DamagedFile(
        fmt::format("{}: the bytes of example {} were changed; delete the file, and "
                    "it is made again",
                    path(), i));
  return example;
}

}  // namespace cairn
