// Turns: the order in which the key blocks of one head add to the same rows of d_q. Blocks are
// claimed in the order of their number, and one waits only for smaller numbers, so the smallest
// unfinished one always goes on, whatever the number of threads.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <thread>

namespace cairn::cpu {

// One block's place in the order.
class Turn {
 public:
  using Slot = std::atomic<uint64_t>;

  // `before` is null for the first block of a chain.
  Turn(Slot& own, uint64_t number, const Slot* before, uint64_t number_before)
      : own_(own), before_(before), own_bits_(number << 32), before_bits_(number_before << 32) {}

  // Returns when the block before has finished the query tile.
  void wait(int64_t tile) const {
    if (before_) wait_until(*before_, before_bits_ | static_cast<uint64_t>(tile + 1));
  }
  void finished(int64_t tile) const {
    own_.store(own_bits_ | static_cast<uint64_t>(tile + 1), std::memory_order_release);
  }

  static void wait_until(const Slot& slot, uint64_t value) {
    for (int tries = 0; slot.load(std::memory_order_acquire) < value; ++tries)
      if (tries > 64) std::this_thread::yield();
  }

 private:
  Slot& own_;
  const Slot* before_;
  uint64_t own_bits_, before_bits_;
};

// The progress of the blocks in flight: (number, tiles finished), in a ring. A slot only ever
// grows, so a block that was overwritten by a later one reads as finished.
class Turns {
 public:
  static constexpr uint64_t kSlots = 512;
  static constexpr uint64_t kAllTiles = 0xffffffffu;

  // Block `index` of the call, which follows block `index - distance` if `chained`.
  Turn open(int64_t index, int64_t distance, bool chained) {
    const uint64_t number = static_cast<uint64_t>(index) + 1;
    Turn::Slot& own = slots_[number % kSlots];
    if (number > kSlots) Turn::wait_until(own, ((number - kSlots) << 32) | kAllTiles);
    const uint64_t before = number - static_cast<uint64_t>(distance);
    return {own, number, chained ? &slots_[before % kSlots] : nullptr, before};
  }
  void close(int64_t index) {
    const uint64_t number = static_cast<uint64_t>(index) + 1;
    slots_[number % kSlots].store((number << 32) | kAllTiles, std::memory_order_release);
  }

 private:
  std::array<Turn::Slot, kSlots> slots_{};
};

}  // namespace cairn::cpu
