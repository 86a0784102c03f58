// The layout: where each buffer of each phase lies in the arena. It is solved once, offline, from
// the trace of a rehearsal; the run asserts that its request n is the rehearsed request n.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "memory/account.h"

namespace cairn {

// Alignment of every buffer: a cache line, and a vector of the widest target.
inline constexpr int64_t kBufferAlignment = 64;

// One buffer of the rehearsal. Times count requests and releases within the phase.
struct TraceEntry {
  static constexpr int64_t kNever = INT64_MAX;
  int64_t bytes = 0;
  int64_t birth = 0;
  int64_t death = kNever;
};

// What one phase asked for, in order.
struct Trace {
  std::array<std::vector<TraceEntry>, kNumPhases> phases;
};

struct Layout {
  // offsets[phase][n] is the place of the phase's request n.
  std::array<std::vector<int64_t>, kNumPhases> offsets;
  std::array<std::vector<int64_t>, kNumPhases> bytes;
  int64_t arena_bytes = 0;
};

// Buffers of `load` that never die (weights, gradients, optimizer states) lie first, end to end;
// what every phase needs beyond them lies above, each phase solved by first fit over sizes in
// descending order. Throws CheckFailed if a buffer of another phase outlives its phase.
Layout solve_layout(const Trace& trace);

}  // namespace cairn
