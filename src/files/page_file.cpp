#include "files/page_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/bytes.h"
#include "base/error.h"

namespace cairn {
namespace {

bool is_aligned(int64_t value) { return value % kPageAlignment == 0; }

// A file without a name; on a file system that cannot, one whose name is removed at once.
int open_unnamed(const std::string& folder, int flags) {
  const int descriptor = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC | flags, 0600);
  if (descriptor >= 0) return descriptor;
  std::string name = folder + "/.cairn-pages-XXXXXX";
  const int named = ::mkostemp(name.data(), O_CLOEXEC | flags);
  if (named >= 0) ::unlink(name.c_str());
  return named;
}

}  // namespace

PageFile::PageFile(const std::string& folder) : folder_(folder.empty() ? "." : folder) {
  std::error_code ignored;
  std::filesystem::create_directories(folder_, ignored);
  // tmpfs and some network file systems know no direct I/O.
  descriptor_ = open_unnamed(folder_, O_DIRECT);
  if (descriptor_ < 0) descriptor_ = open_unnamed(folder_, 0);
  if (descriptor_ < 0)
    throw UserError(
        fmt::format("page_dir '{}': no page file can be made there ({}); name a folder on a local "
                    "disk that may be written",
                    folder_, std::strerror(errno)));
  worker_ = std::thread([this] { run(); });
}

PageFile::~PageFile() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  worker_.join();
  ::close(descriptor_);
}

void PageFile::reserve(int64_t bytes) {
  if (bytes == 0) return;
  const int error = ::posix_fallocate(descriptor_, 0, bytes);
  if (error != 0)
    throw DeviceError(fmt::format(
        "page_dir '{}' has no room for a page file of {} ({}); free that much, or name another "
        "page_dir",
        folder_, format_bytes(bytes), std::strerror(error)));
}

PageStore::Ticket PageFile::start_write(int64_t offset, const std::byte* from, int64_t bytes) {
  return start({true, offset, bytes, const_cast<std::byte*>(from)});
}

PageStore::Ticket PageFile::start_read(int64_t offset, std::byte* to, int64_t bytes) {
  return start({false, offset, bytes, to});
}

PageStore::Ticket PageFile::start(const Move& move) {
  CAIRN_CHECK(is_aligned(move.offset) && is_aligned(move.bytes) &&
                  is_aligned(static_cast<int64_t>(reinterpret_cast<uintptr_t>(move.memory))),
              "[page file] wanted offset, length and memory at multiples of {}", kPageAlignment);
  const std::lock_guard lock(mutex_);
  queue_.push_back(move);
  changed_.notify_all();
  return ++started_;
}

void PageFile::wait(Ticket ticket) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return finished_ >= ticket; });
  if (!failure_.empty()) throw DeviceError(failure_);
}

void PageFile::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return closing_ || !queue_.empty(); });
    if (queue_.empty()) return;
    const Move move = queue_.front();
    lock.unlock();
    std::string failure = perform(move);
    lock.lock();
    queue_.pop_front();
    ++finished_;
    if (failure_.empty()) failure_ = std::move(failure);
    changed_.notify_all();
  }
}

std::string PageFile::perform(const Move& move) const {
  for (int64_t done = 0; done < move.bytes;) {
    const auto left = static_cast<size_t>(move.bytes - done);
    std::byte* const at = move.memory + done;
    const ssize_t count = move.writes ? ::pwrite(descriptor_, at, left, move.offset + done)
                                      : ::pread(descriptor_, at, left, move.offset + done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0)
      return fmt::format("the page file in '{}' could not be {} ({}); check the disk of page_dir",
                         folder_, move.writes ? "written" : "read",
                         count < 0 ? std::strerror(errno) : "it ends too early");
    done += count;
  }
  return {};
}

}  // namespace cairn
