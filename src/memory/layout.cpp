#include "memory/layout.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "base/bytes.h"
#include "base/error.h"

namespace cairn {
namespace {

// A range of bytes and the buffers that take turns in it. A step repeats itself block by block, so
// many buffers share few ranges.
class Shelf {
 public:
  Shelf(int64_t begin, int64_t end) : begin_(begin), end_(end) {}
  int64_t begin() const { return begin_; }
  int64_t end() const { return end_; }

  // True if no buffer here lives at any time that the entry does.
  bool is_free_for(const TraceEntry& entry) const {
    const auto after = lives_.lower_bound(entry.death);
    return after == lives_.begin() || std::prev(after)->second <= entry.birth;
  }
  void add(const TraceEntry& entry) { lives_.emplace(entry.birth, entry.death); }

 private:
  int64_t begin_, end_;               // bytes
  std::map<int64_t, int64_t> lives_;  // birth, death: they do not overlap
};

// The shelf of exactly that range, made if there is none. Shelves are sorted by begin.
Shelf& shelf_at(std::vector<Shelf>& shelves, int64_t begin, int64_t end) {
  auto at = std::lower_bound(shelves.begin(), shelves.end(), begin,
                             [](const Shelf& shelf, int64_t key) { return shelf.begin() < key; });
  for (; at != shelves.end() && at->begin() == begin; ++at)
    if (at->end() == end) return *at;
  return *shelves.emplace(at, begin, end);
}

// Places the entries of one phase above `floor`, the largest first, each at the lowest place that
// is free for its life; returns the highest end.
int64_t place_phase(const std::vector<TraceEntry>& entries, int64_t floor,
                    std::vector<int64_t>& offsets) {
  std::vector<size_t> order;
  for (size_t i = 0; i < entries.size(); ++i)
    if (entries[i].death != TraceEntry::kNever) order.push_back(i);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return entries[a].bytes > entries[b].bytes; });

  int64_t top = floor;
  std::vector<Shelf> shelves;
  for (size_t index : order) {
    const TraceEntry& entry = entries[index];
    const int64_t size = round_up(entry.bytes, kBufferAlignment);
    int64_t begin = floor;
    for (const Shelf& shelf : shelves) {
      if (begin + size <= shelf.begin()) break;
      if (shelf.end() > begin && !shelf.is_free_for(entry)) begin = shelf.end();
    }
    offsets[index] = begin;
    top = std::max(top, begin + size);
    if (size > 0) shelf_at(shelves, begin, begin + size).add(entry);
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
