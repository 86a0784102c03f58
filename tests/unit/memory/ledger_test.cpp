// What the ledger promises: every byte has a charge, the peak names its charges, and a budget
// speaks before a device is asked.
#include "memory/ledger.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace cairn {
namespace {

int64_t of(const Snapshot::PerAccount& accounts, Account account) {
  return accounts[static_cast<size_t>(account)];
}

std::vector<std::string> labels_at_peak(const Ledger& ledger) {
  std::vector<std::string> labels;
  for (const LiveCharge& charge : ledger.snapshot().live_at_peak) labels.push_back(charge.label);
  return labels;
}

TEST(Ledger, holding_memory_is_holding_a_charge) {
  Ledger ledger;
  {
    const Charge weights = ledger.charge(Account::weights, Place::device, "w", 100);
    EXPECT_EQ(weights.bytes(), 100);
    EXPECT_EQ(ledger.current(Account::weights), 100);
    const Charge scratch = ledger.charge(Account::workspace, Place::device, "s", 20);
    EXPECT_EQ(ledger.current(), 120);
  }
  EXPECT_EQ(ledger.current(), 0);
  for (const Account account : kAccounts) EXPECT_EQ(ledger.current(account), 0);
}

TEST(Ledger, a_moved_charge_is_given_back_once) {
  Ledger ledger;
  Charge first = ledger.charge(Account::weights, Place::device, "w", 100);
  Charge second = std::move(first);
  EXPECT_EQ(ledger.current(), 100);
  second = Charge();
  EXPECT_EQ(ledger.current(), 0);
}

TEST(Ledger, peak_lists_live_charges_largest_first) {
  Ledger ledger;
  const Charge weights = ledger.charge(Account::weights, Place::device, "w", 50);
  { const Charge early = ledger.charge(Account::workspace, Place::device, "early", 30); }
  {
    const Ledger::Scope step(ledger, "step");
    const Charge saved = ledger.charge(Account::activations, Place::device, "saved", 60);
    const Ledger::Scope block(ledger, "block 3");
    const Charge scores = ledger.charge(Account::workspace, Place::device, "scores", 10);
  }
  const Charge late = ledger.charge(Account::workspace, Place::device, "late", 69);
  EXPECT_EQ(ledger.snapshot().peak_bytes(), 120);
  EXPECT_EQ(labels_at_peak(ledger),
            (std::vector<std::string>{"step / saved", "w", "step / block 3 / scores"}));
}

TEST(Ledger, a_peak_that_still_lasts_is_listed_too) {
  Ledger ledger;
  const Charge one = ledger.charge(Account::weights, Place::device, "one", 5);
  const Charge two = ledger.charge(Account::weights, Place::device, "two", 7);
  EXPECT_EQ(labels_at_peak(ledger), (std::vector<std::string>{"two", "one"}));
}

TEST(Ledger, an_equal_peak_keeps_the_first_list) {
  Ledger ledger;
  { const Charge first = ledger.charge(Account::weights, Place::device, "first", 5); }
  const Charge second = ledger.charge(Account::weights, Place::device, "second", 5);
  EXPECT_EQ(labels_at_peak(ledger), (std::vector<std::string>{"first"}));
}

TEST(Ledger, accounts_have_peaks_of_their_own) {
  Ledger ledger;
  {
    const Charge big = ledger.charge(Account::activations, Place::device, "a", 100);
    const Charge small = ledger.charge(Account::workspace, Place::device, "s", 10);
  }
  const Charge alone = ledger.charge(Account::workspace, Place::device, "s", 90);
  const Snapshot now = ledger.snapshot();
  EXPECT_EQ(now.peak_bytes(), 110);
  EXPECT_EQ(of(now.accounts_at_peak(), Account::workspace), 10);
  EXPECT_EQ(of(now.accounts_at_peak(), Account::activations), 100);
  EXPECT_EQ(of(now.peaks_of_accounts(), Account::workspace), 90);
  EXPECT_EQ(of(now.peaks_of_accounts(), Account::activations), 100);
}

TEST(Ledger, accounts_at_the_peak_add_up_to_it) {
  Ledger ledger;
  std::vector<Charge> held;
  for (int64_t i = 1; i <= 40; ++i) {
    held.push_back(ledger.charge(kAccounts[static_cast<size_t>(i % kNumAccounts)], Place::device,
                                 "x", i * 37 % 101));
    if (i % 3 == 0) held.erase(held.begin());
  }
  const Snapshot now = ledger.snapshot();
  int64_t accounts = 0, live = 0;
  for (const int64_t bytes : now.accounts_at_peak()) accounts += bytes;
  for (const LiveCharge& charge : now.live_at_peak) live += charge.bytes;
  EXPECT_EQ(accounts, now.peak_bytes());
  EXPECT_EQ(live, now.peak_bytes());
}

TEST(Ledger, places_are_kept_apart) {
  Ledger ledger;
  const Charge device = ledger.charge(Account::optimizer, Place::device, "d", 3);
  const Charge page = ledger.charge(Account::optimizer, Place::page, "p", 500);
  EXPECT_EQ(ledger.current(Place::device), 3);
  EXPECT_EQ(ledger.current(Account::optimizer, Place::page), 500);
  EXPECT_EQ(ledger.snapshot().peak_bytes(), 3);
  EXPECT_EQ(labels_at_peak(ledger), (std::vector<std::string>{"d"}));
}

TEST(Ledger, the_peak_knows_its_phase) {
  Ledger ledger;
  ledger.set_phase(Phase::load);
  const Charge weights = ledger.charge(Account::weights, Place::device, "w", 5);
  ledger.set_phase(Phase::step);
  { const Charge scratch = ledger.charge(Account::workspace, Place::device, "s", 5); }
  ledger.set_phase(Phase::save);
  EXPECT_EQ(ledger.snapshot().peak_phase[static_cast<size_t>(Place::device)], Phase::step);
}

TEST(Ledger, a_charge_over_the_budget_throws_and_leaves_nothing) {
  Ledger ledger;
  ledger.set_budget(Place::device, 100);
  const Charge held = ledger.charge(Account::weights, Place::device, "w", 80);
  try {
    ledger.charge(Account::workspace, Place::device, "logits", 21);
    FAIL() << "the budget did not speak";
  } catch (const OutOfBudget& error) {
    EXPECT_EQ(error.requested_bytes, 21);
    EXPECT_EQ(error.snapshot.peak_bytes(), 80);
    EXPECT_NE(std::string(error.what()).find("logits"), std::string::npos) << error.what();
  }
  EXPECT_EQ(ledger.current(), 80);
  const Charge fits = ledger.charge(Account::workspace, Place::device, "logits", 20);
  EXPECT_EQ(ledger.current(), 100);
}

TEST(Ledger, one_budget_says_nothing_of_another_place) {
  Ledger ledger;
  ledger.set_budget(Place::device, 10);
  const Charge host = ledger.charge(Account::optimizer, Place::host, "h", 1000);
  EXPECT_EQ(ledger.current(Place::host), 1000);
}

TEST(Ledger, refuses_a_negative_charge) {
  Ledger ledger;
  EXPECT_THROW(ledger.charge(Account::weights, Place::device, "w", -1), CheckFailed);
}

}  // namespace
}  // namespace cairn
