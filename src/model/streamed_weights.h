// StreamedWeights: the frozen weights of the blocks stay in a page store and pass through two slots
// of memory. A block's weights are read while the block before it is at work, forward and backward:
// at most two are in memory.
#pragma once

#include <array>
#include <vector>

#include "memory/page_store.h"
#include "model/parameter.h"
#include "model/parameter_store.h"
#include "ops/exec.h"

namespace cairn {

class StreamedWeights : public ParameterStore {
 public:
  // blocks[i]: the parameters that stream with block i, in their order.
  using Blocks = std::vector<std::vector<Parameter*>>;

  // Takes the slots.
  StreamedWeights(const Exec& exec, Blocks blocks);
  ~StreamedWeights() override;
  StreamedWeights(const StreamedWeights&) = delete;
  StreamedWeights& operator=(const StreamedWeights&) = delete;

  // Room in a page store, and where it is; before anything is filled.
  int64_t page_bytes() const { return slot_bytes_ * static_cast<int64_t>(blocks_.size()); }
  void use_pages(Ledger& ledger, PageStore& pages, int64_t offset);

  // Loading: the block's parameters get a slot to be written to; keep() brings them to the store.
  void start_fill(size_t block);
  void keep(size_t block);

  // Of units, those of blocks stream. Throws DeviceError.
  void open(size_t unit) override;
  void close() override {}

 private:
  static constexpr size_t kNone = static_cast<size_t>(-1);
  struct Slot {
    Tensor memory;  // [slot_bytes_ + kPageAlignment] u8
    size_t holds = kNone;
    PageStore::Ticket ticket = 0;
    bool reads = false;  // until waited for
  };

  Slot& slot_of(size_t block) { return slots_[block % 2]; }
  std::byte* aligned(Slot& slot) const;
  // Points the block's parameters into its slot.
  void place(size_t block);
  void start_read(size_t block);
  void open_block(size_t block);
  int64_t offset_of(size_t block) const {
    return offset_ + slot_bytes_ * static_cast<int64_t>(block);
  }

  Exec exec_;
  Blocks blocks_;
  int64_t slot_bytes_ = 0;  // of the largest block, whole pages
  std::array<Slot, 2> slots_;
  size_t latest_ = kNone;  // the block opened last
  PageStore* pages_ = nullptr;
  int64_t offset_ = 0;
  Charge paged_;
};

// Fills the blocks of a model while its parameters are loaded in the order of their list.
class StreamFill {
 public:
  // `weights` may be null: nothing streams.
  explicit StreamFill(StreamedWeights* weights) : weights_(weights) {}
  // Call before `parameter` is written, and finish() after the last one.
  void next(const Parameter& parameter);
  void finish();

 private:
  StreamedWeights* weights_;
  int64_t block_ = -1;  // being filled
};

}  // namespace cairn
