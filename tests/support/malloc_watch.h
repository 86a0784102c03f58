// Watches the process's own allocator: a test program that links cairn_malloc_watch counts every
// allocation over a threshold, on any thread, between begin_malloc_watch and end_malloc_watch. The
// independent proof of law 1: during a step nothing but the arena hands out memory.
#pragma once

#include <cstdint>
#include <string>

namespace cairn::testing {

// What the ledger's word is held against. An allocation over this during a step is a leak of the
// law.
inline constexpr int64_t kLargeAllocation = int64_t{64} << 10;

struct MallocReport {
  int64_t allocations = 0;        // of any size
  int64_t large_allocations = 0;  // over the threshold, anonymous mmap included
  int64_t large_bytes = 0;        // their sum
  int64_t largest_bytes = 0;      // of one request; 0 if there was none
  std::string largest_where;      // its call stack, one frame a line

  // For a failing assertion: the numbers and the stack.
  std::string to_string() const;
};

// One watch at a time. Nesting is a programmer's mistake.
void begin_malloc_watch(int64_t threshold = kLargeAllocation);
MallocReport end_malloc_watch();

}  // namespace cairn::testing
