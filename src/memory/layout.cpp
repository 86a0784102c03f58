#include "memory/layout.h"

#include <algorithm>
#include <numeric>

#include "base/bytes.h"
#include "base/error.h"

namespace cairn {
namespace {

struct Placed {
  int64_t begin, end;    // bytes
  int64_t birth, death;  // time
};

// Places the entries of one phase above `floor`; returns the highest end.
int64_t place_phase(const std::vector<TraceEntry>& entries, int64_t floor,
                    std::vector<int64_t>& offsets) {
  std::vector<size_t> order;
  for (size_t i = 0; i < entries.size(); ++i)
    if (entries[i].death != TraceEntry::kNever) order.push_back(i);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return entries[a].bytes > entries[b].bytes; });

  int64_t top = floor;
  std::vector<Placed> placed;  // sorted by begin
  for (size_t index : order) {
    const TraceEntry& entry = entries[index];
    const int64_t size = round_up(entry.bytes, kBufferAlignment);
    int64_t begin = floor;
    for (const Placed& other : placed) {
      if (other.death <= entry.birth || entry.death <= other.birth) continue;
      if (begin + size <= other.begin) break;
      begin = std::max(begin, other.end);
    }
    offsets[index] = begin;
    top = std::max(top, begin + size);
    if (size == 0) continue;
    const Placed now{begin, begin + size, entry.birth, entry.death};
    placed.insert(
        std::upper_bound(placed.begin(), placed.end(), now,
                         [](const Placed& a, const Placed& b) { return a.begin < b.begin; }),
        now);
  }
  return top;
}

}  // namespace

Layout solve_layout(const Trace& trace) {
  Layout layout;
  int64_t floor = 0;
  for (size_t phase = 0; phase < kNumPhases; ++phase) {
    const auto& entries = trace.phases[phase];
    layout.offsets[phase].resize(entries.size());
    layout.bytes[phase].resize(entries.size());
    for (size_t i = 0; i < entries.size(); ++i) {
      layout.bytes[phase][i] = entries[i].bytes;
      if (entries[i].death != TraceEntry::kNever) continue;
      CAIRN_CHECK(static_cast<Phase>(phase) == Phase::load,
                  "[layout] wanted every buffer of phase {} to die in it, got one that lives on",
                  name_of(static_cast<Phase>(phase)));
      layout.offsets[phase][i] = floor;
      floor += round_up(entries[i].bytes, kBufferAlignment);
    }
  }
  layout.arena_bytes = floor;
  for (size_t phase = 0; phase < kNumPhases; ++phase)
    layout.arena_bytes = std::max(layout.arena_bytes,
                                  place_phase(trace.phases[phase], floor, layout.offsets[phase]));
  return layout;
}

}  // namespace cairn
