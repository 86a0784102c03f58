// RehearsalDevice lends addresses that nothing may touch: every read or write of one faults. Copies
// do nothing, so that a rehearsed step may be fed from the host like a real one.
#pragma once

#include "memory/device.h"

namespace cairn {

class RehearsalDevice : public Device {
 public:
  // An address of no process: user addresses end far below it, the kernel's begin far above.
  static constexpr uintptr_t kAddress = 0xCA00000000000000;

  std::byte* borrow(int64_t) override { return reinterpret_cast<std::byte*>(kAddress); }
  void give_back(std::byte*, int64_t) override {}
  void prefault(std::byte*, int64_t) override {}
  void copy_to_device(Stream, const void*, std::byte*, int64_t) override {}
  void copy_to_host(Stream, const std::byte*, void*, int64_t) override {}
  void wait(Stream) override {}
};

}  // namespace cairn
