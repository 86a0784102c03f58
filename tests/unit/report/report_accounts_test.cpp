// The ledger's reports: every byte of the peak is shown once, and the verdict is the one that
// counts.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/bytes.h"
#include "report/accounts.h"

namespace cairn {
namespace {

// A peak of 100 MiB weights, 4 x 5 MiB activations, 8 MiB workspace and 1 MiB optimizer.
Snapshot some_snapshot() {
  Ledger ledger;
  std::vector<Charge> held;
  held.push_back(ledger.charge(Account::weights, Place::device, "embed_tokens", 100 * kMiB));
  held.push_back(ledger.charge(Account::optimizer, Place::device, "m", kMiB));
  { const Charge early = ledger.charge(Account::workspace, Place::device, "early", 20 * kMiB); }
  ledger.set_phase(Phase::step);
  const Ledger::Scope step(ledger, "step");
  for (int block = 0; block < 4; ++block) {
    const Ledger::Scope scope(ledger, fmt::format("block {}", block));
    held.push_back(ledger.charge(Account::activations, Place::device, "input", 5 * kMiB));
  }
  held.push_back(ledger.charge(Account::workspace, Place::device, "logits 32", 8 * kMiB));
  return ledger.snapshot();
}

TEST(Accounts, holders_of_like_labels_are_told_together) {
  const std::vector<Holder> holders = holders_at_peak(some_snapshot());
  ASSERT_EQ(holders.size(), 4u);
  EXPECT_EQ(holders[0].label, "embed_tokens");
  EXPECT_EQ(holders[1].label, "step / block * / input");
  EXPECT_EQ(holders[1].charges, 4);
  EXPECT_EQ(holders[1].bytes, 20 * kMiB);
  EXPECT_EQ(holders[2].label, "step / logits 32");  // a number that does not differ stays
  int64_t sum = 0;
  for (const Holder& holder : holders) sum += holder.bytes;
  EXPECT_EQ(sum, some_snapshot().peak_bytes());
}

TEST(Accounts, the_table_shows_each_account_and_what_stands_beside) {
  const Snapshot snapshot = some_snapshot();
  const std::string table =
      accounts_table(snapshot, {snapshot.peak_bytes() + kMiB, 30 * kMiB, std::nullopt});
  for (const char* words :
       {"weights", "gradients", "optimizer", "activations", "workspace", "100.0 MiB", "77.5 %",
        "20.0 MiB", "peak", "129.0 MiB", "alignment and placement", "runtime", "30.0 MiB", "needed",
        "160.0 MiB"})
    EXPECT_NE(table.find(words), std::string::npos) << words << "\n" << table;
  EXPECT_EQ(accounts_table(snapshot).find("runtime"), std::string::npos);
}

TEST(Accounts, the_verdict_counts_what_stands_beside_the_accounts) {
  const Snapshot snapshot = some_snapshot();
  const AccountsBeside fits = {0, 30 * kMiB, 159 * kMiB};
  EXPECT_EQ(budget_sentence(snapshot, fits),
            "fits: 159.0 MiB of 159.0 MiB are needed, 0 B stay free.");
  const AccountsBeside too_much = {snapshot.peak_bytes() + kMiB, 30 * kMiB, 150 * kMiB};
  EXPECT_EQ(budget_sentence(snapshot, too_much),
            "does not fit: 160.0 MiB are needed, 10.0 MiB more than the budget of 150.0 MiB; the "
            "largest account is weights.");
  EXPECT_EQ(budget_sentence(snapshot, {}), "129.0 MiB are needed.");
}

TEST(Accounts, the_list_of_holders_is_cut_and_says_so) {
  const std::string table = holders_table(some_snapshot(), 2);
  EXPECT_NE(table.find("step / block * / input (x 4)"), std::string::npos);
  EXPECT_EQ(table.find("logits"), std::string::npos);
  EXPECT_NE(table.find("2 more"), std::string::npos);
  EXPECT_EQ(holders_table(Snapshot{}), "");
}

TEST(Accounts, json_has_the_names_of_ledger_json) {
  const nlohmann::json object = to_json(some_snapshot());
  EXPECT_EQ(object["peak_bytes"], 129 * kMiB);
  EXPECT_EQ(object["accounts"]["weights"], 100 * kMiB);
  EXPECT_EQ(object["accounts"]["workspace"], 8 * kMiB);
  EXPECT_EQ(object["account_peaks"]["workspace"], 20 * kMiB);
  EXPECT_EQ(object["accounts"].size(), 5u);
}

TEST(Accounts, the_report_holds_together) {
  const std::string report = accounts_report(some_snapshot(), {0, 0, kGiB});
  EXPECT_NE(report.find("in phase step"), std::string::npos);
  EXPECT_NE(report.find("fits: "), std::string::npos);
}

}  // namespace
}  // namespace cairn
