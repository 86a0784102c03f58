#include "train/sharding/gathered_weights.h"

#include <algorithm>

#include "base/bytes.h"

namespace cairn {
namespace {

// One tensor of a weight whose value is cut: the value itself, or what belongs to its codes.
struct CutPart {
  View* whole;  // where users look
  View own;     // this rank's elements
  DType dtype;
  Shape shape;    // of the whole
  int64_t share;  // elements a rank
};

// The parts of a parameter, in the order in which they lie: body(part).
template <typename Body>
void for_each_part(Parameter& parameter, const Body& body) {
  if (!parameter.cut.value) return;
  const int64_t share = parameter.cut.share;
  body(CutPart{&parameter.value, parameter.view_own_value(), parameter.storage, parameter.shape,
               share});
  if (parameter.storage != DType::u4) return;
  const int64_t block = parameter.quant.block;
  const int64_t own_blocks = ceil_div(parameter.cut.count, block);
  QuantScales& scales = parameter.scales;
  ParameterMemory& memory = parameter.memory;
  body(CutPart{&scales.absmax, memory.absmax.view_rows(own_blocks), memory.absmax.dtype(),
               Shape{scales.blocks}, share / block});
  if (scales.nested)
    body(CutPart{&scales.nested_absmax,
                 memory.nested_absmax.view_rows(ceil_div(own_blocks, kNestedBlock)), DType::f32,
                 Shape{ceil_div(scales.blocks, kNestedBlock)}, share / block / kNestedBlock});
}

int64_t part_bytes(const CutPart& part) {
  return round_up(bytes_of(part.dtype, part.shape.elements()), kBufferAlignment);
}

}  // namespace

GatheredWeights::GatheredWeights(const Exec& exec, Communicator& ranks, std::vector<Unit> units,
                                 bool ahead)
    : exec_(exec), ranks_(ranks), units_(std::move(units)), ahead_(ahead) {}

GatheredWeights::Slot* GatheredWeights::find(size_t unit) {
  for (Slot& slot : slots_)
    if (slot.unit == unit) return &slot;
  return nullptr;
}

GatheredWeights::Slot& GatheredWeights::free_slot(size_t kept) {
  Slot& slot = slots_[0].unit == kept && kept != kNone ? slots_[1] : slots_[0];
  release(slot);
  return slot;
}

void GatheredWeights::start(Slot& slot, size_t unit) {
  int64_t bytes = 0;
  for (Parameter* parameter : units_[unit])
    for_each_part(*parameter, [&](const CutPart& part) { bytes += part_bytes(part); });
  slot.unit = unit;
  if (bytes == 0) return;
  slot.memory = exec_.make(Account::workspace, "gathered weights", DType::u8, {bytes});
  std::vector<SharedPart> parts;
  std::byte* at = slot.memory.view().data();
  for (Parameter* parameter : units_[unit])
    for_each_part(*parameter, [&](const CutPart& part) {
      parts.push_back({View(at, part.dtype, {part.shape.elements()}), part.own, part.share});
      at += part_bytes(part);
    });
  // What was computed before may still read the memory, or write the shares.
  exec_.backend.device().wait(exec_.stream);
  slot.pending = ranks_.start_all_gather(std::move(parts));
  most_whole_ =
      std::max(most_whole_,
               static_cast<int>(std::count_if(slots_.begin(), slots_.end(), [](const Slot& other) {
                 return static_cast<bool>(other.memory);
               })));
}

void GatheredWeights::place(Slot& slot) {
  std::byte* at = slot.memory.view().data();
  for (Parameter* parameter : units_[slot.unit]) {
    for_each_part(*parameter, [&](const CutPart& part) {
      *part.whole = View(at, part.dtype, part.shape);
      at += part_bytes(part);
    });
    if (!parameter->cut.value || parameter->storage != DType::u4) continue;
    parameter->quant.absmax = parameter->scales.absmax;
    parameter->quant.nested_absmax = parameter->scales.nested_absmax;
  }
}

void GatheredWeights::release(Slot& slot) {
  if (slot.unit == kNone) return;
  slot.pending = Pending();
  for (Parameter* parameter : units_[slot.unit])
    for_each_part(*parameter, [](const CutPart& part) { *part.whole = View(); });
  slot.memory.reset();
  slot.unit = kNone;
}

void GatheredWeights::open(size_t unit) {
  if (streamed_) streamed_->open(unit);
  if (unit == latest_) return;
  Slot* slot = find(unit);
  if (!slot) {
    // Without a step ahead the one before goes first: one unit is whole at a time.
    if (!ahead_) release_all();
    slot = &free_slot(ahead_ ? latest_ : kNone);
    start(*slot, unit);
  }
  slot->pending.wait();
  place(*slot);
  // The next step of a walk up or down. A jump says nothing of what follows.
  size_t next = kNone;
  if (latest_ == kNone || unit == latest_ + 1)
    next = unit + 1 < units_.size() ? unit + 1 : kNone;
  else if (unit + 1 == latest_ && unit > 1)
    next = unit - 1;
  if (ahead_ && next != kNone && !find(next)) start(free_slot(unit), next);
  latest_ = unit;
}

void GatheredWeights::close() {
  if (streamed_) streamed_->close();
  release_all();
}

void GatheredWeights::release_all() {
  for (Slot& slot : slots_) release(slot);
  latest_ = kNone;
}

}  // namespace cairn
