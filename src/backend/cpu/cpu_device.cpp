// Slabs are mapped on a border of huge pages, so that the kernel may use those inside a slab; it
// never backs an address outside.
#include "backend/cpu/cpu_device.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "backend/cpu/parallel.h"
#include "base/bytes.h"
#include "base/error.h"

namespace cairn {
namespace {

constexpr int64_t kPage = 4 * kKiB;
constexpr int64_t kHugePage = 2 * kMiB;

// An empty slab still has an address of its own.
int64_t mapped_bytes(int64_t bytes) { return round_up(std::max<int64_t>(bytes, 1), kPage); }

}  // namespace

std::byte* CpuDevice::borrow(int64_t bytes) {
  const int64_t wanted = mapped_bytes(bytes), slack = wanted >= kHugePage ? kHugePage : 0;
  void* mapping = mmap(nullptr, static_cast<size_t>(wanted + slack), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED)
    throw DeviceError(fmt::format(
        "the system refused {} of memory ({}); free some memory or set a smaller memory_budget",
        format_bytes(wanted), std::strerror(errno)));
  auto* const begin = static_cast<std::byte*>(mapping);
  if (slack == 0) return begin;

  const auto address = reinterpret_cast<uintptr_t>(begin);
  const auto front = static_cast<int64_t>((kHugePage - address % kHugePage) % kHugePage);
  std::byte* const slab = begin + front;
  if (front > 0) munmap(begin, static_cast<size_t>(front));
  if (front < slack) munmap(slab + wanted, static_cast<size_t>(slack - front));
  madvise(slab, static_cast<size_t>(wanted), MADV_HUGEPAGE);  // only a hint
  return slab;
}

void CpuDevice::give_back(std::byte* slab, int64_t bytes) {
  if (slab) munmap(slab, static_cast<size_t>(mapped_bytes(bytes)));
}

void CpuDevice::prefault(std::byte* slab, int64_t bytes) {
  cpu::for_each_chunk(threads_, bytes, 8 * kHugePage, [&](int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end; at += kPage) {
      // Writing a byte back to itself keeps what is already there.
      volatile std::byte* const page = slab + at;
      *page = *page;
    }
  });
}

void CpuDevice::copy_to_device(Stream, const void* host, std::byte* device, int64_t bytes) {
  if (bytes > 0) std::memcpy(device, host, static_cast<size_t>(bytes));
}

void CpuDevice::copy_to_host(Stream, const std::byte* device, void* host, int64_t bytes) {
  if (bytes > 0) std::memcpy(host, device, static_cast<size_t>(bytes));
}

}  // namespace cairn
