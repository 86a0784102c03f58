// A file that appears whole or not at all: bytes go to a temporary name beside the target, file and
// folder are synced, then one rename. A full disk, or any other failure, removes the temporary and
// leaves whatever was under the final name untouched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace cairn {

class AtomicFile {
 public:
  // Opens a new temporary beside `path`. Throws UserError when the folder cannot be written.
  explicit AtomicFile(std::string path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  // Sets `bytes` of disk aside, so that a full disk is known before work begins. Throws
  // DeviceError.
  void reserve(int64_t bytes);
  // Adds to the end of what was appended so far. Throws DeviceError, e.g. when the disk is full.
  void append(std::span<const std::byte> bytes);
  // Writes at an offset, in any order. May be called from several threads for disjoint ranges.
  void write_at(int64_t offset, std::span<const std::byte> bytes);
  // Syncs and renames; nothing may be written afterwards.
  void commit();

  const std::string& path() const { return path_; }

 private:
  void remove_temporary() noexcept;

  std::string path_;
  std::string temporary_;
  int descriptor_ = -1;
  int64_t end_ = 0;
};

// The whole of `text` as the file `path`, atomically.
void write_text(const std::string& path, std::string_view text);

}  // namespace cairn
