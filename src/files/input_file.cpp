#include "files/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace cairn {

InputFile::InputFile(std::string path) : path_(std::move(path)) {
  // A pipe is refused below; it must not wait for its writer here.
  descriptor_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor_ < 0)
    throw UserError(
        fmt::format("{} cannot be opened for reading ({}): check the path and its rights.", path_,
                    std::strerror(errno)));
  struct stat status {};
  const bool known = ::fstat(descriptor_, &status) == 0;
  if (!known || !S_ISREG(status.st_mode)) {
    ::close(descriptor_);
    throw UserError(fmt::format("{} is not a regular file: give the path of a file.", path_));
  }
  size_ = status.st_size;
}

InputFile::InputFile(InputFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      size_(other.size_) {}

InputFile& InputFile::operator=(InputFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(size_, other.size_);
  return *this;
}

InputFile::~InputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void require_regular_file(const std::string& path) { InputFile file(path); }

void InputFile::read(int64_t offset, std::span<std::byte> out) const {
  size_t done = 0;
  while (done < out.size()) {
    const ssize_t got = ::pread(descriptor_, out.data() + done, out.size() - done,
                                static_cast<off_t>(offset + static_cast<int64_t>(done)));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      throw DeviceError(fmt::format("{} could not be read at byte {} ({}): check the disk.", path_,
                                    offset + static_cast<int64_t>(done), std::strerror(errno)));
    if (got == 0)
      throw DamagedFile(
          fmt::format("{} ends at byte {} where {} more were expected: it was changed or "
                      "cut short while in use.",
                      path_, offset + static_cast<int64_t>(done), out.size() - done));
    done += static_cast<size_t>(got);
  }
}

}  // namespace cairn
