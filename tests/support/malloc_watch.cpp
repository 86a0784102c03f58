// The C allocator and anonymous mmap, interposed: each call is noted, then handed to glibc's own.
// It must be linked into the program itself (an object library), so that shared libraries are
// watched too.
#include "support/malloc_watch.h"

#include <cxxabi.h>
#include <execinfo.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <mutex>
#include <stdexcept>

extern "C" {
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* pointer, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);
}

namespace cairn::testing {
namespace {

constexpr int kMaxFrames = 48;

std::atomic<bool> watching{false};
std::atomic<int64_t> threshold_bytes{0};
std::atomic<int64_t> allocations{0};
std::atomic<int64_t> large_allocations{0};
std::atomic<int64_t> large_bytes{0};

// The largest request so far and where it came from.
std::mutex largest_mutex;
int64_t largest_bytes = 0;
void* largest_frames[kMaxFrames];
int largest_frame_count = 0;

// backtrace() may allocate; a thread inside note() is not watched.
thread_local bool inside = false;

void note(size_t bytes) {
  if (!watching.load(std::memory_order_relaxed) || inside) return;
  inside = true;
  allocations.fetch_add(1, std::memory_order_relaxed);
  const auto size = static_cast<int64_t>(bytes);
  if (size > threshold_bytes.load(std::memory_order_relaxed)) {
    large_allocations.fetch_add(1, std::memory_order_relaxed);
    large_bytes.fetch_add(size, std::memory_order_relaxed);
    const std::lock_guard lock(largest_mutex);
    if (size > largest_bytes) {
      largest_bytes = size;
      largest_frame_count = backtrace(largest_frames, kMaxFrames);
    }
  }
  inside = false;
}

// "./program(_ZN5cairn3runEv+0x12) [0x55]" with the mangled name made readable.
std::string readable_frame(const std::string& frame) {
  const size_t open = frame.find('('), plus = frame.find('+', open);
  if (open == std::string::npos || plus == std::string::npos) return frame;
  const std::string name = frame.substr(open + 1, plus - open - 1);
  int status = 0;
  char* readable = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  std::string text = status == 0 ? readable : frame;
  std::free(readable);
  return text;
}

std::string describe_largest() {
  std::string text;
  char** symbols = backtrace_symbols(largest_frames, largest_frame_count);
  // Frames 0 and 1 are the watch itself.
  for (int i = 2; symbols && i < largest_frame_count; ++i)
    text += fmt::format("  {}\n", readable_frame(symbols[i]));
  std::free(symbols);
  return text;
}

}  // namespace

std::string MallocReport::to_string() const {
  if (large_allocations == 0) return fmt::format("{} allocations, none of them large", allocations);
  return fmt::format("{} large allocations, {} bytes together; the largest, {} bytes, from\n{}",
                     large_allocations, large_bytes, largest_bytes, largest_where);
}

void begin_malloc_watch(int64_t threshold) {
  if (watching) throw std::logic_error("[malloc_watch] wanted one watch at a time, got a second");
  void* frames[1];
  backtrace(frames, 1);  // loads the unwinder now, not within the watch
  threshold_bytes = threshold;
  allocations = large_allocations = large_bytes = 0;
  largest_bytes = 0;
  largest_frame_count = 0;
  watching = true;
}

MallocReport end_malloc_watch() {
  watching = false;
  const std::lock_guard lock(largest_mutex);
  return {allocations, large_allocations, large_bytes, largest_bytes, describe_largest()};
}

}  // namespace cairn::testing

// The interposed names. GCC marks no declaration of them here: the headers' own prototypes hold.
extern "C" {

void* malloc(size_t bytes) {
  cairn::testing::note(bytes);
  return __libc_malloc(bytes);
}

void* calloc(size_t count, size_t bytes) {
  cairn::testing::note(count * bytes);
  return __libc_calloc(count, bytes);
}

void* realloc(void* pointer, size_t bytes) {
  cairn::testing::note(bytes);
  return __libc_realloc(pointer, bytes);
}

void* memalign(size_t alignment, size_t bytes) {
  cairn::testing::note(bytes);
  return __libc_memalign(alignment, bytes);
}

void* aligned_alloc(size_t alignment, size_t bytes) {
  cairn::testing::note(bytes);
  return __libc_memalign(alignment, bytes);
}

int posix_memalign(void** pointer, size_t alignment, size_t bytes) {
  cairn::testing::note(bytes);
  if (alignment < sizeof(void*) || (alignment & (alignment - 1)) != 0) return EINVAL;
  void* memory = __libc_memalign(alignment, bytes);
  if (!memory) return ENOMEM;
  *pointer = memory;
  return 0;
}

// glibc's own malloc maps memory by an internal name, so nothing is counted twice.
void* mmap(void* address, size_t bytes, int protection, int flags, int file, off_t offset) {
  if (flags & MAP_ANONYMOUS) cairn::testing::note(bytes);
  return reinterpret_cast<void*>(
      syscall(SYS_mmap, address, bytes, protection, flags, file, offset));
}

void* mmap64(void* address, size_t bytes, int protection, int flags, int file, off64_t offset) {
  return mmap(address, bytes, protection, flags, file, offset);
}

}  // extern "C"
