// A device that lends numbers instead of memory, and remembers what it was asked for.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "memory/device.h"

namespace cairn::test {

class FakeDevice : public Device {
 public:
  static constexpr uintptr_t kBase = 0x100000;

  std::byte* borrow(int64_t bytes) override {
    borrowed.push_back(bytes);
    return reinterpret_cast<std::byte*>(kBase);
  }
  void give_back(std::byte* slab, int64_t bytes) override {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(slab), kBase);
    given_back.push_back(bytes);
  }
  void prefault(std::byte*, int64_t bytes) override { prefaulted.push_back(bytes); }
  void copy_to_device(Stream, const void*, std::byte*, int64_t) override {}
  void copy_to_host(Stream, const std::byte*, void*, int64_t) override {}
  void wait(Stream) override {}

  std::vector<int64_t> borrowed, given_back, prefaulted;
};

}  // namespace cairn::test
