#include "memory/arena.h"

#include "base/error.h"

namespace cairn {

Buffer::~Buffer() {
  if (arena_) arena_->release(phase_, request_);
}

Arena::Arena(Device& device, Ledger& ledger) : device_(device), ledger_(ledger) {
  slab_ = device_.borrow(0);
}

Arena::Arena(Device& device, Ledger& ledger, Layout layout)
    : device_(device), ledger_(ledger), layout_(std::move(layout)) {
  slab_ = device_.borrow(layout_->arena_bytes);
}

Arena::~Arena() { device_.give_back(slab_, arena_bytes()); }

void Arena::prefault() { device_.prefault(slab_, arena_bytes()); }

Buffer Arena::allocate(Account account, std::string_view label, int64_t bytes) {
  CAIRN_CHECK(phase_.has_value(), "[arena] wanted a phase before '{}' is allocated, got none",
              label);
  const auto phase = static_cast<size_t>(*phase_);
  Buffer buffer;
  buffer.charge_ = ledger_.charge(account, Place::device, label, bytes);
  buffer.phase_ = *phase_;
  buffer.request_ = next_request_++;
  if (layout_) {
    const auto& rehearsed = layout_->bytes[phase];
    CAIRN_CHECK(
        buffer.request_ < rehearsed.size() && rehearsed[buffer.request_] == bytes,
        "[arena] wanted request {} of phase {} to be {} bytes as rehearsed, got {} for '{}'",
        buffer.request_, name_of(*phase_),
        buffer.request_ < rehearsed.size() ? rehearsed[buffer.request_] : -1, bytes, label);
    buffer.data_ = slab_ + layout_->offsets[phase][buffer.request_];
  } else {
    auto& entries = trace_.phases[phase];
    if (recorded_[phase]) {
      CAIRN_CHECK(buffer.request_ < entries.size() && entries[buffer.request_].bytes == bytes,
                  "[arena] wanted phase {} to repeat itself, got another request for '{}'",
                  name_of(*phase_), label);
    } else {
      entries.push_back({bytes, clock_++, TraceEntry::kNever});
    }
    buffer.data_ = slab_;
  }
  buffer.arena_ = this;
  return buffer;
}

void Arena::release(Phase phase, size_t request) {
  // A buffer that outlives its phase is one for good: the layout never reuses its place.
  if (layout_ || phase_ != phase || recorded_[static_cast<size_t>(phase)]) return;
  trace_.phases[static_cast<size_t>(phase)][request].death = clock_++;
}

Arena::PhaseScope::PhaseScope(Arena& arena, Phase phase) : arena_(arena) {
  CAIRN_CHECK(!arena_.phase_, "[arena] wanted one phase at a time, got {} within {}",
              name_of(phase), name_of(*arena_.phase_));
  arena_.phase_ = phase;
  arena_.next_request_ = 0;
  arena_.clock_ = 0;
  arena_.ledger_.set_phase(phase);
}

Arena::PhaseScope::~PhaseScope() {
  arena_.recorded_[static_cast<size_t>(*arena_.phase_)] = true;
  arena_.phase_.reset();
}

}  // namespace cairn
