// The arena: the one owner of tensor memory on a device. It charges the ledger first. Rehearsing,
// it records the trace; running, it serves request n from the layout that the trace was solved
// into.
#pragma once

#include <optional>
#include <string_view>

#include "memory/device.h"
#include "memory/layout.h"
#include "memory/ledger.h"

namespace cairn {

class Arena;

// A piece of the arena. Move-only; its end gives the memory back.
class Buffer {
 public:
  Buffer() = default;
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Buffer();

  std::byte* data() const { return data_; }
  int64_t bytes() const { return charge_.bytes(); }

 private:
  friend class Arena;
  void swap(Buffer& other) noexcept {
    std::swap(arena_, other.arena_);
    std::swap(data_, other.data_);
    std::swap(phase_, other.phase_);
    std::swap(request_, other.request_);
    std::swap(charge_, other.charge_);
  }

  Arena* arena_ = nullptr;
  std::byte* data_ = nullptr;
  Phase phase_{};
  size_t request_ = 0;
  Charge charge_;
};

class Arena {
 public:
  // Rehearsing: records. `device` lends addresses that nothing may touch.
  Arena(Device& device, Ledger& ledger);
  // Running: borrows layout.arena_bytes from the device. `layout` is kept by value.
  Arena(Device& device, Ledger& ledger, Layout layout);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Called from one thread only. Throws OutOfBudget (from the ledger), and CheckFailed when request
  // n of a running phase is not the rehearsed request n.
  Buffer allocate(Account account, std::string_view label, int64_t bytes);

  // Everything between begin and end belongs to the phase; a phase may be run any number of times.
  class PhaseScope {
   public:
    PhaseScope(Arena& arena, Phase phase);
    ~PhaseScope();
    PhaseScope(const PhaseScope&) = delete;
    PhaseScope& operator=(const PhaseScope&) = delete;

   private:
    Arena& arena_;
  };

  void prefault();
  Ledger& ledger() { return ledger_; }
  Device& device() { return device_; }
  const Trace& trace() const { return trace_; }
  int64_t arena_bytes() const { return layout_ ? layout_->arena_bytes : 0; }

 private:
  friend class Buffer;
  void release(Phase phase, size_t request);

  Device& device_;
  Ledger& ledger_;
  std::optional<Layout> layout_;
  Trace trace_;
  std::byte* slab_ = nullptr;
  std::optional<Phase> phase_;
  size_t next_request_ = 0;
  int64_t clock_ = 0;
  bool recorded_[kNumPhases] = {};  // rehearsing: the phase was recorded, later runs must repeat it
};

}  // namespace cairn
