// A file opened for reading by position, shared by threads. It names itself in every error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace cairn {

class InputFile {
 public:
  // Throws UserError when it is missing, a folder, or may not be read.
  explicit InputFile(std::string path);
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&& other) noexcept;
  ~InputFile();

  const std::string& path() const { return path_; }
  int64_t size() const { return size_; }
  // Fills `out` from `offset`. Throws DamagedFile when the file ends before, DeviceError when the
  // disk cannot be read.
  void read(int64_t offset, std::span<std::byte> out) const;

 private:
  std::string path_;
  int descriptor_ = -1;
  int64_t size_ = 0;
};

// Throws as the constructor does, before a reader of another kind opens the file: a pipe would keep
// it waiting for ever.
void require_regular_file(const std::string& path);

}  // namespace cairn
