// The watch watches itself: it must see what it is meant to see, from every door and every thread,
// and stay silent otherwise. Else its silence during a training step would prove nothing.
#include "support/malloc_watch.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "support/resident_size.h"

namespace cairn::testing {

constexpr size_t kMebibyte = size_t{1} << 20;

// Keeps the compiler from proving that an allocation is never used.
inline void use(const void* pointer) { asm volatile("" : : "r"(pointer) : "memory"); }

// Not in the anonymous namespace: its name must be in the program's symbol table.
__attribute__((noinline)) void fill_a_vector_of_one_mebibyte() {
  const std::vector<char> values(kMebibyte);
  use(values.data());
}

namespace {

TEST(MallocWatch, catches_a_vector_and_names_its_size_and_place) {
  begin_malloc_watch();
  fill_a_vector_of_one_mebibyte();
  const MallocReport report = end_malloc_watch();
  EXPECT_EQ(report.large_allocations, 1) << report.to_string();
  EXPECT_EQ(report.largest_bytes, static_cast<int64_t>(kMebibyte));
  EXPECT_NE(report.largest_where.find("fill_a_vector_of_one_mebibyte"), std::string::npos)
      << report.to_string();
}

TEST(MallocWatch, catches_every_door_of_the_allocator) {
  begin_malloc_watch();
  const std::unique_ptr<char[]> array(new char[kMebibyte]);
  use(array.get());
  void* pointers[5] = {std::malloc(kMebibyte), std::calloc(2, kMebibyte), nullptr,
                       std::aligned_alloc(4096, kMebibyte), nullptr};
  pointers[2] = std::realloc(pointers[0], 3 * kMebibyte);
  ASSERT_EQ(posix_memalign(&pointers[4], 64, kMebibyte), 0);
  void* mapped = mmap(nullptr, kMebibyte, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const MallocReport report = end_malloc_watch();
  for (int i = 1; i < 5; ++i) std::free(pointers[i]);
  munmap(mapped, kMebibyte);
  EXPECT_EQ(report.large_allocations, 7) << report.to_string();
  EXPECT_EQ(report.large_bytes, static_cast<int64_t>(10 * kMebibyte));
  EXPECT_EQ(report.largest_bytes, static_cast<int64_t>(3 * kMebibyte));
}

TEST(MallocWatch, sees_other_threads) {
  begin_malloc_watch(static_cast<int64_t>(kMebibyte));
  std::thread([] {
    const std::vector<char> values(4 * kMebibyte);
    use(values.data());
  }).join();
  const MallocReport report = end_malloc_watch();
  EXPECT_GE(report.largest_bytes, static_cast<int64_t>(4 * kMebibyte)) << report.to_string();
}

TEST(MallocWatch, is_silent_below_the_threshold) {
  begin_malloc_watch();
  for (size_t bytes = 1; bytes <= static_cast<size_t>(kLargeAllocation); bytes *= 2) {
    const std::vector<char> values(bytes);
    use(values.data());
  }
  const MallocReport report = end_malloc_watch();
  EXPECT_EQ(report.large_allocations, 0) << report.to_string();
  EXPECT_GE(report.allocations, 17);
}

TEST(MallocWatch, counts_nothing_outside_of_the_watch) {
  begin_malloc_watch();
  end_malloc_watch();
  const std::vector<char> values(kMebibyte);
  use(values.data());
  begin_malloc_watch();
  EXPECT_EQ(end_malloc_watch().large_allocations, 0);
}

TEST(ResidentSize, follows_what_is_touched) {
  const auto before = read_resident_size();
  if (!before) GTEST_SKIP() << "no /proc/self/status on this system: nothing to hold";
  constexpr int64_t bytes = 32 * kMebibyte;
  // The kernel folds each thread's count into the process's in batches of some pages.
  constexpr int64_t slack = 1 * kMebibyte;
  int64_t grown = 0;
  {
    const std::unique_ptr<char[]> touched(new char[bytes]);
    std::memset(touched.get(), 1, bytes);
    use(touched.get());
    grown = read_resident_size()->anonymous_bytes - before->anonymous_bytes;
  }
  const auto after = read_resident_size();
  EXPECT_GE(grown, bytes - slack);
  EXPECT_GE(after->peak_bytes, before->now_bytes + bytes - slack);
  if (!reset_resident_peak()) GTEST_SKIP() << "the kernel does not let us reset the peak";
  EXPECT_LT(read_resident_size()->peak_bytes, after->peak_bytes);
}

}  // namespace
}  // namespace cairn::testing
