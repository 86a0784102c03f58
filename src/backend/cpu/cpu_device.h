// CpuDevice: slabs of anonymous memory. A slab's resident size is the slab's own, rounded up to
// pages, once it is prefaulted: no more, no less.
#pragma once

#include "memory/device.h"

namespace cairn {

class CpuDevice : public Device {
 public:
  explicit CpuDevice(int threads) : threads_(threads) {}
  std::byte* borrow(int64_t bytes) override;
  void give_back(std::byte* slab, int64_t bytes) override;
  void prefault(std::byte* slab, int64_t bytes) override;
  void copy_to_device(Stream, const void* host, std::byte* device, int64_t bytes) override;
  void copy_to_host(Stream, const std::byte* device, void* host, int64_t bytes) override;
  void wait(Stream) override {}

 private:
  int threads_;
};

}  // namespace cairn
