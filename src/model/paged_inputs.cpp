#include "model/paged_inputs.h"

#include "base/bytes.h"
#include "base/error.h"
#include "ops/moving.h"

namespace cairn {
namespace {

int64_t slot_bytes_of(int64_t capacity_tokens, DType dtype, int64_t width) {
  return round_up(capacity_tokens * width * size_of(dtype), kPageAlignment);
}

}  // namespace

int64_t PagedInputs::bytes_of(const CheckpointPolicy& policy, int64_t capacity_tokens, DType dtype,
                              int64_t width) {
  int64_t bytes = 0;
  for (const BlockPolicy& block : policy)
    if (block.first == Keep::paged_input) bytes += slot_bytes_of(capacity_tokens, dtype, width);
  return bytes;
}

PagedInputs::PagedInputs(const Pass& pass, const CheckpointPolicy& policy, int64_t width)
    : pass_(pass), width_(width), slots_(policy.size(), kNone) {
  for (size_t block = 0; block < policy.size(); ++block) {
    if (policy[block].first != Keep::paged_input) continue;
    slots_[block] = at_slot_.size();
    at_slot_.push_back(block);
  }
  if (at_slot_.empty()) return;
  CAIRN_CHECK(pass.pages, "[paged inputs] wanted a page store, got none");
  slot_bytes_ = slot_bytes_of(pass.capacity.tokens, pass.activation, width);
  // One alignment more: the arena's own is finer.
  for (Stage& stage : stages_)
    stage.memory = pass.exec.make(Account::activations, "stage of paged inputs", DType::u8,
                                  {slot_bytes_ + kPageAlignment});
}

PagedInputs::~PagedInputs() {
  for (Stage& stage : stages_) {
    if (stage.holds == kNone) continue;
    try {
      pass_.pages->wait(stage.ticket);
    } catch (const DeviceError&) {
      // Whoever needs the input has met the error, or another one is on its way.
    }
  }
}

std::byte* PagedInputs::aligned(Stage& stage) { return align_to_page(stage.memory.view().data()); }

void PagedInputs::store(size_t block, ConstView input) {
  Stage& stage = stage_of(block);
  if (stage.holds != kNone) pass_.pages->wait(stage.ticket);
  ops::convert(pass_.exec, input, View(aligned(stage), input.dtype(), input.shape()));
  pass_.exec.backend.device().wait(pass_.exec.stream);
  stage.ticket = pass_.pages->start_write(offset_of(block), aligned(stage),
                                          round_up(input.bytes(), kPageAlignment));
  stage.holds = block;
}

void PagedInputs::start_fetch(size_t block) {
  Stage& stage = stage_of(block);
  if (stage.holds == block) return;  // it never left
  if (stage.holds != kNone) pass_.pages->wait(stage.ticket);
  const int64_t bytes = pass_.tokens() * width_ * size_of(pass_.activation);
  stage.ticket =
      pass_.pages->start_read(offset_of(block), aligned(stage), round_up(bytes, kPageAlignment));
  stage.holds = block;
}

void PagedInputs::fetch(size_t block, View input) {
  start_fetch(block);
  Stage& stage = stage_of(block);
  pass_.pages->wait(stage.ticket);
  ops::convert(pass_.exec, ConstView(aligned(stage), input.dtype(), input.shape()), input);
  if (const size_t slot = slots_[block]; slot > 0) start_fetch(at_slot_[slot - 1]);
}

}  // namespace cairn
