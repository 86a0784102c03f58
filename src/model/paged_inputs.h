// PagedInputs: block inputs that wait in a page store. Two stages lie between: while one is on its
// way the other is filled or read, so that moves run beside the blocks' computing.
#pragma once

#include <array>

#include "memory/page_store.h"
#include "model/checkpoint_policy.h"
#include "model/pass.h"

namespace cairn {

class PagedInputs {
 public:
  // `policy` says which blocks page; takes both stages from the arena if any does. `width` elements
  // a row.
  PagedInputs(const Pass& pass, const CheckpointPolicy& policy, int64_t width);
  // Waits for what is under way: the stages go back to the arena.
  ~PagedInputs();
  PagedInputs(const PagedInputs&) = delete;
  PagedInputs& operator=(const PagedInputs&) = delete;

  // Copies the input of a block and starts its way out; `input` may die at once.
  void store(size_t block, ConstView input);
  // Brings it back into `input`, and starts the way back of the next one due: that of the nearest
  // paged block before.
  void fetch(size_t block, View input);

  // Room that the store must have for `policy`.
  static int64_t bytes_of(const CheckpointPolicy& policy, int64_t capacity_tokens, DType dtype,
                          int64_t width);

 private:
  struct Stage {
    Tensor memory;
    PageStore::Ticket ticket = 0;
    size_t holds = kNone;  // a block whose input this stage holds, or is about to
  };
  static constexpr size_t kNone = SIZE_MAX;

  Stage& stage_of(size_t block) { return stages_[slots_[block] % 2]; }
  static std::byte* aligned(Stage& stage);
  int64_t offset_of(size_t block) const {
    return static_cast<int64_t>(slots_[block]) * slot_bytes_;
  }
  void start_fetch(size_t block);

  const Pass& pass_;
  int64_t width_, slot_bytes_ = 0;
  std::vector<size_t> slots_;    // of each block, its place in the store; kNone: it does not page
  std::vector<size_t> at_slot_;  // the block of each slot
  std::array<Stage, 2> stages_;
};

}  // namespace cairn
