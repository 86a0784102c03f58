#include "model/streamed_weights.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/error.h"

namespace cairn {
namespace {

constexpr int64_t kPartAlignment = 64;

// The parts of a parameter, in the order in which they lie: body(view, dtype, shape).
template <typename Body>
void for_each_part(Parameter& parameter, const Body& body) {
  body(parameter.value, parameter.storage, parameter.shape);
  if (parameter.storage != DType::u4) return;
  const QuantScales& scales = parameter.scales;
  body(parameter.scales.absmax, scales.nested ? DType::u8 : DType::f32, Shape{scales.blocks});
  if (scales.nested)
    body(parameter.scales.nested_absmax, DType::f32, Shape{ceil_div(scales.blocks, kNestedBlock)});
}

int64_t bytes_of_block(const std::vector<Parameter*>& block) {
  int64_t bytes = 0;
  for (Parameter* parameter : block)
    for_each_part(*parameter, [&](View&, DType dtype, const Shape& shape) {
      bytes += round_up(bytes_of(dtype, shape.elements()), kPartAlignment);
    });
  return round_up(bytes, kPageAlignment);
}

}  // namespace

StreamedWeights::StreamedWeights(const Exec& exec, Blocks blocks)
    : exec_(exec), blocks_(std::move(blocks)) {
  for (const std::vector<Parameter*>& block : blocks_)
    slot_bytes_ = std::max(slot_bytes_, bytes_of_block(block));
  // One alignment more: the arena's own is finer.
  for (Slot& slot : slots_)
    slot.memory = exec.make(Account::weights, "slot of streamed weights", DType::u8,
                            {slot_bytes_ + kPageAlignment});
}

StreamedWeights::~StreamedWeights() {
  for (Slot& slot : slots_) {
    if (!slot.reads) continue;
    try {
      pages_->wait(slot.ticket);
    } catch (const DeviceError&) {
      // Nobody will read what did not come.
    }
  }
}

void StreamedWeights::use_pages(Ledger& ledger, PageStore& pages, int64_t offset) {
  pages_ = &pages;
  offset_ = offset;
  paged_ = ledger.charge(Account::weights, Place::page, "frozen weights", page_bytes());
}

std::byte* StreamedWeights::aligned(Slot& slot) const {
  return align_to_page(slot.memory.view().data());
}

void StreamedWeights::place(size_t block) {
  std::byte* at = aligned(slot_of(block));
  for (Parameter* parameter : blocks_[block]) {
    for_each_part(*parameter, [&](View& part, DType dtype, const Shape& shape) {
      part = View(at, dtype, shape);
      at += round_up(part.bytes(), kPartAlignment);
    });
    parameter->quant.absmax = parameter->scales.absmax;
    parameter->quant.nested_absmax = parameter->scales.nested_absmax;
  }
}

void StreamedWeights::start_fill(size_t block) {
  slot_of(block).holds = block;
  place(block);
}

void StreamedWeights::keep(size_t block) {
  Slot& slot = slot_of(block);
  CAIRN_CHECK(pages_ && slot.holds == block,
              "[streamed weights] wanted a block that is being filled, got {}", block);
  exec_.backend.device().wait(exec_.stream);
  pages_->wait(pages_->start_write(offset_of(block), aligned(slot), slot_bytes_));
}

void StreamedWeights::start_read(size_t block) {
  Slot& slot = slot_of(block);
  if (slot.holds == block) return;
  if (slot.reads) pages_->wait(slot.ticket);
  exec_.backend.device().wait(exec_.stream);
  slot.ticket = pages_->start_read(offset_of(block), aligned(slot), slot_bytes_);
  slot.holds = block;
  slot.reads = true;
}

void StreamedWeights::open(size_t unit) {
  if (unit >= unit_of_block(0) && unit < head_unit(blocks_.size()))
    open_block(unit - unit_of_block(0));
}

void StreamedWeights::open_block(size_t block) {
  if (block == latest_) return;
  CAIRN_CHECK(pages_, "[streamed weights] wanted use_pages before the first block");
  start_read(block);
  Slot& slot = slot_of(block);
  if (slot.reads) pages_->wait(slot.ticket);
  slot.reads = false;
  place(block);
  // The next step of a walk up or down. A jump says nothing of what follows.
  if (latest_ != kNone && block == latest_ + 1 && block + 1 < blocks_.size())
    start_read(block + 1);
  else if (latest_ != kNone && block + 1 == latest_ && block > 0)
    start_read(block - 1);
  latest_ = block;
}

void StreamFill::next(const Parameter& parameter) {
  if (!weights_ || parameter.streamed_block < 0 || parameter.streamed_block == block_) return;
  finish();
  block_ = parameter.streamed_block;
  weights_->start_fill(static_cast<size_t>(block_));
}

void StreamFill::finish() {
  if (weights_ && block_ >= 0) weights_->keep(static_cast<size_t>(block_));
  block_ = -1;
}

}  // namespace cairn
