// Where states stay: what fits stays for good, the rest moves ahead of use, and a failed move is
// one sentence.
#include "train/optimizers/state_store.h"

#include <gtest/gtest.h>

#include "backend/registry.h"
#include "base/bytes.h"
#include "base/error.h"

namespace cairn::test {
namespace {

// Notes what it is asked for, in order; the move with ticket `fails` fails.
class NotingPages : public PageStore {
 public:
  void reserve(int64_t) override {}
  Ticket start_write(int64_t offset, const std::byte*, int64_t) override {
    return note("write", offset);
  }
  Ticket start_read(int64_t offset, std::byte*, int64_t) override { return note("read", offset); }
  void wait(Ticket ticket) override {
    notes.push_back(fmt::format("wait for {}", ticket));
    if (fails != 0 && ticket >= fails) throw DeviceError("the disk is gone");
  }

  std::vector<std::string> notes;
  Ticket fails = 0;

 private:
  Ticket note(const char* what, int64_t offset) {
    notes.push_back(fmt::format("{} {} as {}", what, offset / kPageAlignment, ++tickets_));
    return tickets_;
  }
  Ticket tickets_ = 0;
};

// A store of `count` records of eight pages each in a rehearsed arena, which nothing touches.
struct StoreCase {
  StoreCase(size_t count, std::optional<int64_t> page_resident)
      : records(count), backend(open_rehearsal(cpu_profile(1))), arena(backend->device(), ledger) {
    const Arena::PhaseScope phase(arena, Phase::load);
    store.allocate(exec, std::vector<StateStore::Record>(count, {"record", kRecord}),
                   page_resident);
    store.use_pages(ledger, &pages, 0);
  }
  static constexpr int64_t kRecord = 8 * kPageAlignment;
  static constexpr int64_t kBuffers = 2 * (kRecord + kPageAlignment);

  size_t records;
  std::unique_ptr<RehearsalBackend> backend;
  Ledger ledger;
  Arena arena;
  Exec exec{*backend, arena};
  NotingPages pages;
  StateStore store;
};

TEST(StateStore, records_that_fit_stay_and_nothing_moves) {
  for (const std::optional<int64_t> limit :
       {std::optional<int64_t>(), std::optional(5 * StoreCase::kRecord)}) {
    StoreCase one(5, limit);
    EXPECT_EQ(one.store.page_bytes(), 0);
    EXPECT_EQ(one.ledger.current(Account::optimizer), 5 * StoreCase::kRecord);
    const Arena::PhaseScope phase(one.arena, Phase::update);
    StateStore::Sweep sweep(one.exec, one.store, true, 0, one.records);
    for (size_t i = 0; i < 5; ++i) {
      sweep.open(i);
      sweep.close(i);
    }
    sweep.finish();
    EXPECT_TRUE(one.pages.notes.empty());
  }
}

TEST(StateStore, first_records_stay_within_the_limit_beside_the_buffers) {
  StoreCase one(5, StoreCase::kBuffers + 2 * StoreCase::kRecord + 100);
  EXPECT_EQ(one.store.page_bytes(), 3 * StoreCase::kRecord);
  EXPECT_EQ(one.ledger.current(Account::optimizer, Place::page), 3 * StoreCase::kRecord);
  EXPECT_EQ(one.ledger.current(Account::optimizer), 2 * StoreCase::kRecord);
  const Arena::PhaseScope phase(one.arena, Phase::update);
  {
    const StateStore::Sweep sweep(one.exec, one.store, true, 0, one.records);
    EXPECT_EQ(one.ledger.current(Account::optimizer), 2 * StoreCase::kRecord + StoreCase::kBuffers);
  }
  EXPECT_EQ(one.ledger.current(Account::optimizer), 2 * StoreCase::kRecord);
}

TEST(StateStore, the_next_read_starts_before_this_record_is_handed_out) {
  StoreCase one(3, StoreCase::kBuffers);
  const Arena::PhaseScope phase(one.arena, Phase::update);
  StateStore::Sweep sweep(one.exec, one.store, true, 0, one.records);
  for (size_t i = 0; i < 3; ++i) {
    sweep.open(i);
    one.pages.notes.push_back("update");
    sweep.close(i);
  }
  sweep.finish();
  EXPECT_EQ(one.pages.notes,
            (std::vector<std::string>{"read 0 as 1", "read 8 as 2", "wait for 1", "update",
                                      "write 0 as 3", "read 16 as 4", "wait for 2", "update",
                                      "write 8 as 5", "wait for 4", "update", "write 16 as 6",
                                      "wait for 6", "wait for 5"}));
}

TEST(StateStore, a_failed_move_is_thrown_where_it_is_met) {
  for (const PageStore::Ticket fails : {1, 2, 3}) {
    StoreCase one(3, StoreCase::kBuffers);
    one.pages.fails = fails;
    const Arena::PhaseScope phase(one.arena, Phase::update);
    EXPECT_THROW(
        {
          StateStore::Sweep sweep(one.exec, one.store, true, 0, one.records);
          for (size_t i = 0; i < 3; ++i) {
            sweep.open(i);
            sweep.close(i);
          }
          sweep.finish();
        },
        DeviceError);
    EXPECT_EQ(one.ledger.current(Account::optimizer), 0) << "the buffers went back";
  }
}

}  // namespace
}  // namespace cairn::test
