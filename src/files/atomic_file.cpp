#include "files/atomic_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/bytes.h"
#include "base/error.h"

namespace cairn {
namespace {

[[noreturn]] void throw_write_error(const std::string& path, int error) {
  if (error == ENOSPC || error == EDQUOT)
    throw DeviceError(fmt::format(
        "The disk is full while writing {}: free some space or choose another folder.", path));
  if (error == EFBIG)
    throw DeviceError(fmt::format("{} is larger than its file system or limit allows.", path));
  throw DeviceError(fmt::format("{} could not be written ({}).", path, std::strerror(error)));
}

// A name that no other writer of this target holds; a dead process may have left lower numbers.
int open_temporary(const std::string& path, std::string& temporary) {
  for (int attempt = 0; attempt < 1000; ++attempt) {
    temporary = fmt::format("{}.partial-{}-{}", path, ::getpid(), attempt);
    const int descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor >= 0 || errno != EEXIST) return descriptor;
  }
  return -1;
}

void sync_folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  const int descriptor =
      ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  // Some file systems cannot sync a folder; the rename itself has already happened.
  ::fsync(descriptor);
  ::close(descriptor);
}

}  // namespace

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)) {
  std::error_code ignored;  // what cannot be looked at cannot be opened below
  if (std::filesystem::is_directory(path_, ignored))
    throw UserError(fmt::format("{} is a folder: a file was to be written there.", path_));
  // A rename would put a file in the place of the device.
  if (std::filesystem::is_other(path_, ignored) ||
      std::filesystem::path(path_).parent_path() == "/dev")
    throw UserError(
        fmt::format("{} is no file but a device or pipe: give the path of a file.", path_));
  descriptor_ = open_temporary(path_, temporary_);
  if (descriptor_ >= 0) return;
  if (errno == ENOSPC || errno == EDQUOT) throw_write_error(path_, errno);
  throw UserError(fmt::format("{} cannot be written ({}): the folder must exist and be writable.",
                              path_, std::strerror(errno)));
}

AtomicFile::~AtomicFile() { remove_temporary(); }

void AtomicFile::remove_temporary() noexcept {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(temporary_.c_str());
  descriptor_ = -1;
}

void AtomicFile::reserve(int64_t bytes) {
  if (bytes <= 0 || ::fallocate(descriptor_, 0, 0, bytes) == 0) return;
  if (errno == ENOSPC || errno == EDQUOT)
    throw DeviceError(fmt::format(
        "The disk is too full for {}, which needs {}: free some space or choose another "
        "folder.",
        path_, format_bytes(bytes)));
  // A file system that cannot set space aside says so when the bytes come.
}

void AtomicFile::append(std::span<const std::byte> bytes) {
  write_at(end_, bytes);
  end_ += static_cast<int64_t>(bytes.size());
}

void AtomicFile::write_at(int64_t offset, std::span<const std::byte> bytes) {
  CAIRN_CHECK(descriptor_ >= 0, "[atomic_file] wanted an open file, got {} after its end", path_);
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t wrote = ::pwrite(descriptor_, bytes.data() + done, bytes.size() - done,
                                   static_cast<off_t>(offset + static_cast<int64_t>(done)));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) throw_write_error(path_, wrote < 0 ? errno : ENOSPC);
    done += static_cast<size_t>(wrote);
  }
}

void AtomicFile::commit() {
  CAIRN_CHECK(descriptor_ >= 0, "[atomic_file] wanted an open file, got {} after its end", path_);
  if (::fsync(descriptor_) != 0) throw_write_error(path_, errno);
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) throw_write_error(path_, errno);
  ::close(descriptor_);
  descriptor_ = -1;
  sync_folder_of(path_);
}

void write_text(const std::string& path, std::string_view text) {
  AtomicFile file(path);
  file.append(std::as_bytes(std::span(text.data(), text.size())));
  file.commit();
}

}  // namespace cairn
