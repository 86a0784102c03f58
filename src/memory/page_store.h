// PageStore: memory outside the arena where tensors wait until they are due: a page file beside a
// CPU, page-locked host memory beside a device. Moves are explicit and run ahead of use.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cairn {

// What a store moves begins and ends at multiples of this: in memory, in the file, and in length.
inline constexpr int64_t kPageAlignment = 4096;

// The first address at or after `memory` that a store may move to or from.
inline std::byte* align_to_page(std::byte* memory) {
  const auto past = static_cast<int64_t>(reinterpret_cast<uintptr_t>(memory) % kPageAlignment);
  return memory + (past == 0 ? 0 : kPageAlignment - past);
}

class PageStore {
 public:
  // One move that was started.
  using Ticket = int64_t;

  virtual ~PageStore() = default;
  // Room for `bytes`, which read as zero until they are written; throws DeviceError with what to do
  // where there is none. Called once.
  virtual void reserve(int64_t bytes) = 0;
  // Moves run in the order they were started; memory must stay as it is until its wait returned.
  virtual Ticket start_write(int64_t offset, const std::byte* from, int64_t bytes) = 0;
  virtual Ticket start_read(int64_t offset, std::byte* to, int64_t bytes) = 0;
  // Throws DeviceError if the move or one before it failed.
  virtual void wait(Ticket ticket) = 0;
};

}  // namespace cairn
