// Device: a lender of slabs. The arena borrows one slab and cuts it up; nothing else asks a device.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cairn {

// An ordered queue of work on a device. The CPU backend has one and runs at once.
struct Stream {
  int index = 0;
};

class Device {
 public:
  virtual ~Device() = default;
  // `bytes` of address space, aligned to at least 4096; throws DeviceError if there are none.
  virtual std::byte* borrow(int64_t bytes) = 0;
  virtual void give_back(std::byte* slab, int64_t bytes) = 0;
  // Touches every page, so that memory is really there before step 1.
  virtual void prefault(std::byte* slab, int64_t bytes) = 0;
  virtual void copy_to_device(Stream stream, const void* host, std::byte* device,
                              int64_t bytes) = 0;
  virtual void copy_to_host(Stream stream, const std::byte* device, void* host, int64_t bytes) = 0;
  virtual void wait(Stream stream) = 0;
};

}  // namespace cairn
