#include "files/checksum.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <new>
#include <vector>

#include "base/bytes.h"
#include "files/input_file.h"

namespace cairn {

void Checksum::Free::operator()(XXH3_state_s* state) const { XXH3_freeState(state); }

Checksum::Checksum() : state_(XXH3_createState()) {
  if (!state_) throw std::bad_alloc();
  XXH3_64bits_reset(state_.get());
}

Checksum::~Checksum() = default;

void Checksum::add(std::span<const std::byte> bytes) {
  XXH3_64bits_update(state_.get(), bytes.data(), bytes.size());
}

std::string Checksum::text() const {
  return fmt::format("{:016x}", XXH3_64bits_digest(state_.get()));
}

std::string checksum_of(std::string_view text) {
  Checksum checksum;
  checksum.add(text);
  return checksum.text();
}

std::string checksum_of_file(const std::string& path) {
  const InputFile file(path);
  Checksum checksum;
  std::vector<std::byte> piece(static_cast<size_t>(64 * kKiB));
  for (int64_t at = 0; at < file.size();) {
    const auto count = std::min(file.size() - at, static_cast<int64_t>(piece.size()));
    const std::span<std::byte> bytes(piece.data(), static_cast<size_t>(count));
    file.read(at, bytes);
    checksum.add(bytes);
    at += count;
  }
  return checksum.text();
}

}  // namespace cairn
