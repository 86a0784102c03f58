// What the arena promises: it charges first, serves request n from the rehearsed request n, and
// lets a phase run again and again in the same places.
#include "memory/arena.h"

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "base/error.h"
#include "memory/tensor.h"
#include "unit/memory/fake_device.h"

namespace cairn {
namespace {

using test::FakeDevice;

int64_t offset_of(const Buffer& buffer) {
  return static_cast<int64_t>(reinterpret_cast<uintptr_t>(buffer.data()) - FakeDevice::kBase);
}

// Loads a weight that stays, then runs a step twice.
struct Recording {
  FakeDevice device;
  Ledger ledger;
  Layout layout;

  Recording() {
    Arena arena(device, ledger);
    Buffer weight;
    {
      const Arena::PhaseScope phase(arena, Phase::load);
      weight = arena.allocate(Account::weights, "w", 100);
      const Buffer staging = arena.allocate(Account::workspace, "staging", 300);
    }
    for (int pass = 0; pass < 2; ++pass) step(arena);
    layout = solve_layout(arena.trace());
  }

  static std::vector<int64_t> step(Arena& arena) {
    const Arena::PhaseScope phase(arena, Phase::step);
    const Buffer kept = arena.allocate(Account::activations, "kept", 64);
    std::vector<int64_t> offsets{offset_of(kept)};
    for (int i = 0; i < 2; ++i) {
      const Buffer scratch = arena.allocate(Account::workspace, "scratch", 128);
      offsets.push_back(offset_of(scratch));
    }
    return offsets;
  }
};

TEST(Arena, rehearsed_peak_is_the_measured_peak) {
  Recording recording;
  FakeDevice device;
  Ledger ledger;
  Arena arena(device, ledger, recording.layout);
  Buffer weight;
  {
    const Arena::PhaseScope phase(arena, Phase::load);
    weight = arena.allocate(Account::weights, "w", 100);
    const Buffer staging = arena.allocate(Account::workspace, "staging", 300);
  }
  Recording::step(arena);
  EXPECT_EQ(ledger.snapshot().peak_bytes(), recording.ledger.snapshot().peak_bytes());
  EXPECT_EQ(ledger.snapshot().account_peaks, recording.ledger.snapshot().account_peaks);
}

TEST(Arena, borrows_one_slab_and_gives_it_back) {
  Recording recording;
  FakeDevice device;
  Ledger ledger;
  {
    Arena arena(device, ledger, recording.layout);
    arena.prefault();
    EXPECT_EQ(arena.arena_bytes(), 128 + 320);
  }
  EXPECT_EQ(device.borrowed, (std::vector<int64_t>{448}));
  EXPECT_EQ(device.prefaulted, (std::vector<int64_t>{448}));
  EXPECT_EQ(device.given_back, (std::vector<int64_t>{448}));
}

TEST(Arena, a_phase_runs_again_in_the_same_places) {
  Recording recording;
  FakeDevice device;
  Ledger ledger;
  Arena arena(device, ledger, recording.layout);
  const auto first = Recording::step(arena);
  EXPECT_EQ(Recording::step(arena), first);
  EXPECT_EQ(first[1], first[2]) << "the second scratch reuses the place of the first";
  EXPECT_NE(first[0], first[1]);
  EXPECT_GE(*std::min_element(first.begin(), first.end()), 128) << "the weight's place is reused";
}

TEST(Arena, what_outlives_its_phase_keeps_its_place) {
  Recording recording;
  FakeDevice device;
  Ledger ledger;
  Arena arena(device, ledger, recording.layout);
  Buffer weight;
  {
    const Arena::PhaseScope phase(arena, Phase::load);
    weight = arena.allocate(Account::weights, "w", 100);
    const Buffer staging = arena.allocate(Account::workspace, "staging", 300);
    EXPECT_EQ(offset_of(weight), 0);
  }
  Recording::step(arena);
  EXPECT_EQ(ledger.current(Account::weights), 100);
  weight = Buffer();
  EXPECT_EQ(ledger.current(), 0);
}

TEST(Arena, request_n_must_be_the_rehearsed_request_n) {
  Recording recording;
  FakeDevice device;
  Ledger ledger;
  Arena arena(device, ledger, recording.layout);
  const Arena::PhaseScope phase(arena, Phase::step);
  const Buffer kept = arena.allocate(Account::activations, "kept", 64);
  EXPECT_THROW(arena.allocate(Account::workspace, "scratch", 127), CheckFailed);
}

TEST(Arena, one_request_more_than_rehearsed_is_refused) {
  Recording recording;
  FakeDevice device;
  Ledger ledger;
  Arena arena(device, ledger, recording.layout);
  const Arena::PhaseScope phase(arena, Phase::step);
  std::vector<Buffer> held;
  held.push_back(arena.allocate(Account::activations, "kept", 64));
  for (int i = 0; i < 2; ++i) held.push_back(arena.allocate(Account::workspace, "scratch", 128));
  EXPECT_THROW(arena.allocate(Account::workspace, "scratch", 128), CheckFailed);
}

TEST(Arena, a_refused_request_leaves_no_charge) {
  Recording recording;
  FakeDevice device;
  Ledger ledger;
  Arena arena(device, ledger, recording.layout);
  {
    const Arena::PhaseScope phase(arena, Phase::step);
    EXPECT_THROW(arena.allocate(Account::workspace, "other", 65), CheckFailed);
  }
  EXPECT_EQ(ledger.current(), 0);
}

TEST(Arena, a_rehearsed_phase_must_repeat_itself) {
  FakeDevice device;
  Ledger ledger;
  Arena arena(device, ledger);
  Recording::step(arena);
  const Arena::PhaseScope phase(arena, Phase::step);
  EXPECT_THROW(arena.allocate(Account::activations, "kept", 65), CheckFailed);
}

TEST(Arena, wants_a_phase_and_one_at_a_time) {
  FakeDevice device;
  Ledger ledger;
  Arena arena(device, ledger);
  EXPECT_THROW(arena.allocate(Account::weights, "w", 1), CheckFailed);
  const Arena::PhaseScope phase(arena, Phase::load);
  EXPECT_THROW(Arena::PhaseScope(arena, Phase::step), CheckFailed);
}

TEST(Arena, charges_before_it_serves) {
  FakeDevice device;
  Ledger ledger;
  ledger.set_budget(Place::device, 99);
  Arena arena(device, ledger);
  const Arena::PhaseScope phase(arena, Phase::load);
  EXPECT_THROW(arena.allocate(Account::weights, "w", 100), OutOfBudget);
  EXPECT_TRUE(arena.trace().phases[static_cast<size_t>(Phase::load)].empty());
}

TEST(Tensor, views_of_rows_lie_within_it) {
  FakeDevice device;
  Ledger ledger;
  Arena arena(device, ledger);
  const Arena::PhaseScope phase(arena, Phase::step);
  Tensor tensor(arena, Account::activations, "x", DType::bf16, {6, 2, 5});
  EXPECT_EQ(tensor.bytes(), 120);
  EXPECT_EQ(ledger.current(Account::activations), 120);
  EXPECT_EQ(tensor.view_rows(4).shape(), (Shape{4, 2, 5}));
  const View tail = tensor.view().view_rows(4, 2);
  EXPECT_EQ(tail.data() - tensor.view().data(), 4 * 20);
  EXPECT_THROW(tensor.view().view_rows(5, 2), CheckFailed);
  EXPECT_THROW(tensor.view().view_as({61}), CheckFailed);
  tensor.reset();
  EXPECT_FALSE(tensor);
  EXPECT_EQ(ledger.current(), 0);
}

}  // namespace
}  // namespace cairn
