// Slabs of the processor: aligned, zero, given back, and resident to the page once prefaulted.
#include "backend/cpu/cpu_device.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "support/resident_size.h"

namespace cairn {
namespace {

TEST(CpuDevice, slabs_are_aligned_to_pages) {
  CpuDevice device(1);
  for (const int64_t bytes : {int64_t{0}, int64_t{1}, 4 * kKiB, 3 * kMiB, 5 * kMiB + 17}) {
    std::byte* const slab = device.borrow(bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(slab) % 4096, 0u) << bytes;
    device.give_back(slab, bytes);
  }
}

TEST(CpuDevice, prefault_makes_the_slab_resident_and_nothing_more) {
  const auto resident = [] { return cairn::testing::read_resident_size()->anonymous_bytes; };
  if (!cairn::testing::read_resident_size()) GTEST_SKIP() << "no /proc/self/status on this system";
  CpuDevice device(2);
  constexpr int64_t kBytes = 37 * kMiB + 5 * kKiB;
  // Once before measuring: threads and their stacks come up.
  std::byte* const warm = device.borrow(kBytes);
  device.prefault(warm, kBytes);
  device.give_back(warm, kBytes);

  const int64_t before = resident();
  std::byte* const slab = device.borrow(kBytes);
  EXPECT_LE(resident() - before, 64 * kKiB) << "borrowing alone made memory resident";
  device.prefault(slab, kBytes);
  const int64_t grown = resident() - before;
  device.give_back(slab, kBytes);
  // The kernel counts resident pages in batches, one a core, that are a little late.
  constexpr int64_t kLate = kMiB;
  EXPECT_NEAR(static_cast<double>(grown), static_cast<double>(round_up(kBytes, 4 * kKiB)),
              static_cast<double>(kLate));
  EXPECT_NEAR(static_cast<double>(resident()), static_cast<double>(before),
              static_cast<double>(kLate));
}

TEST(CpuDevice, prefault_keeps_what_is_there) {
  CpuDevice device(2);
  constexpr int64_t kBytes = 3 * kMiB;
  std::byte* const slab = device.borrow(kBytes);
  std::memset(slab, 0x5a, kBytes);
  device.prefault(slab, kBytes);
  for (int64_t i = 0; i < kBytes; ++i) ASSERT_EQ(slab[i], std::byte{0x5a}) << i;
  device.give_back(slab, kBytes);
}

TEST(CpuDevice, copies_there_and_back) {
  CpuDevice device(1);
  const std::vector<int> numbers{3, 1, 4, 1, 5};
  std::vector<int> back(numbers.size());
  const auto bytes = static_cast<int64_t>(numbers.size() * sizeof(int));
  std::byte* const slab = device.borrow(bytes);
  device.copy_to_device({}, numbers.data(), slab, bytes);
  device.copy_to_host({}, slab, back.data(), bytes);
  device.wait({});
  EXPECT_EQ(back, numbers);
  device.give_back(slab, bytes);
}

TEST(CpuDevice, refused_memory_says_how_much_and_what_to_do) {
  CpuDevice device(1);
  try {
    device.borrow(int64_t{1} << 60);
    FAIL() << "an exbibyte was lent";
  } catch (const DeviceError& error) {
    EXPECT_NE(std::string(error.what()).find("memory_budget"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace cairn
