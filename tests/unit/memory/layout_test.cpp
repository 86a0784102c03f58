// What a layout promises over any trace: live buffers never share a byte, the arena holds them all,
// and it is no larger than what placement explains.
#include "memory/layout.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/bytes.h"
#include "base/error.h"
#include "base/random.h"

namespace cairn {
namespace {

constexpr auto kLoad = static_cast<size_t>(Phase::load);
constexpr auto kStep = static_cast<size_t>(Phase::step);

// Scopes that nest and now and then hand a buffer out of order, as a training step does.
std::vector<TraceEntry> random_phase(uint64_t seed, int64_t requests, bool some_stay) {
  const Random random(seed);
  std::vector<TraceEntry> entries;
  std::vector<size_t> live;
  int64_t clock = 0;
  uint64_t draw = 0;
  while (static_cast<int64_t>(entries.size()) < requests || !live.empty()) {
    const bool may_grow = static_cast<int64_t>(entries.size()) < requests;
    if (may_grow && (live.empty() || random.below(draw++, 5) < 3)) {
      const auto size = static_cast<int64_t>(random.below(draw, 1 + random.below(draw + 1, 5000)));
      draw += 2;
      entries.push_back({size, clock++, TraceEntry::kNever});
      if (!some_stay || random.below(draw++, 3) > 0) live.push_back(entries.size() - 1);
    } else {
      // Mostly the youngest dies first.
      const size_t back = std::min<size_t>(live.size(), 1 + random.below(draw++, 3));
      const size_t at = live.size() - back;
      entries[live[at]].death = clock++;
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(at));
    }
  }
  return entries;
}

bool overlap(const TraceEntry& a, const TraceEntry& b) {
  return a.birth < b.death && b.birth < a.death;
}

void expect_no_two_share_a_byte(const std::vector<TraceEntry>& entries,
                                const std::vector<int64_t>& offsets, int64_t arena_bytes) {
  for (size_t i = 0; i < entries.size(); ++i) {
    EXPECT_EQ(offsets[i] % kBufferAlignment, 0);
    EXPECT_GE(offsets[i], 0);
    EXPECT_LE(offsets[i] + entries[i].bytes, arena_bytes);
    for (size_t j = 0; j < i; ++j) {
      if (!overlap(entries[i], entries[j])) continue;
      const bool apart = offsets[i] + entries[i].bytes <= offsets[j] ||
                         offsets[j] + entries[j].bytes <= offsets[i];
      EXPECT_TRUE(apart) << "requests " << j << " and " << i;
    }
  }
}

// The most bytes alive at once: no layout can do with fewer.
int64_t lower_bound(const std::vector<TraceEntry>& entries) {
  int64_t most = 0;
  for (const TraceEntry& at : entries) {
    int64_t now = 0;
    for (const TraceEntry& other : entries)
      if (other.birth <= at.birth && at.birth < other.death)
        now += round_up(other.bytes, kBufferAlignment);
    most = std::max(most, now);
  }
  return most;
}

TEST(Layout, live_buffers_never_overlap) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Trace trace;
    trace.phases[kLoad] = random_phase(2 * seed, 30, true);
    trace.phases[kStep] = random_phase(2 * seed + 1, 120, false);
    const Layout layout = solve_layout(trace);
    expect_no_two_share_a_byte(trace.phases[kLoad], layout.offsets[kLoad], layout.arena_bytes);
    expect_no_two_share_a_byte(trace.phases[kStep], layout.offsets[kStep], layout.arena_bytes);
  }
}

TEST(Layout, what_stays_after_load_is_never_reused) {
  Trace trace;
  trace.phases[kLoad] = random_phase(7, 30, true);
  trace.phases[kStep] = random_phase(8, 60, false);
  const Layout layout = solve_layout(trace);
  int64_t floor = 0;
  for (const TraceEntry& entry : trace.phases[kLoad])
    if (entry.death == TraceEntry::kNever) floor += round_up(entry.bytes, kBufferAlignment);
  ASSERT_GT(floor, 0);
  for (const int64_t offset : layout.offsets[kStep]) EXPECT_GE(offset, floor);
}

TEST(Layout, random_traces_stay_close_to_the_lower_bound) {
  double worst = 1;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    Trace trace;
    trace.phases[kStep] = random_phase(seed, 150, false);
    const auto bound = static_cast<double>(lower_bound(trace.phases[kStep]));
    const double ratio = static_cast<double>(solve_layout(trace).arena_bytes) / bound;
    EXPECT_GE(ratio, 1);
    worst = std::max(worst, ratio);
  }
  RecordProperty("worst_ratio", std::to_string(worst));
  EXPECT_LT(worst, 1.25);
}

TEST(Layout, nested_scopes_need_no_more_than_their_peak) {
  // A stack: the youngest dies first. Equal sizes leave no holes.
  Trace trace;
  auto& entries = trace.phases[kStep];
  for (int64_t i = 0; i < 8; ++i) entries.push_back({640, i, 16 - i});
  for (int64_t i = 0; i < 8; ++i) entries.push_back({640, 20 + i, 40 - i});
  EXPECT_EQ(solve_layout(trace).arena_bytes, lower_bound(entries));
}

TEST(Layout, the_arena_is_as_large_as_the_largest_phase) {
  Trace trace;
  trace.phases[kLoad] = {{1000, 0, TraceEntry::kNever}, {5000, 1, 2}};
  trace.phases[kStep] = {{3000, 0, 1}};
  trace.phases[static_cast<size_t>(Phase::save)] = {{9000, 0, 1}};
  EXPECT_EQ(solve_layout(trace).arena_bytes, round_up(1000, 64) + round_up(9000, 64));
}

TEST(Layout, buffers_of_a_step_must_die_in_it) {
  Trace trace;
  trace.phases[kStep] = {{64, 0, TraceEntry::kNever}};
  EXPECT_THROW(solve_layout(trace), CheckFailed);
}

TEST(Layout, empty_buffers_take_no_room) {
  Trace trace;
  trace.phases[kStep] = {{0, 0, 3}, {64, 1, 2}};
  EXPECT_EQ(solve_layout(trace).arena_bytes, 64);
}

}  // namespace
}  // namespace cairn
