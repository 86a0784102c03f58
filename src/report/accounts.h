// The ledger for people and for files: the accounts at the peak, what holds the peak, and whether
// it fits. All of it comes from a Snapshot; nothing is computed a second way.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "memory/ledger.h"

namespace cairn {

// What stands beside the accounts.
struct AccountsBeside {
  int64_t arena_bytes = 0;    // 0: not known; what it has above the peak is alignment and placement
  int64_t runtime_bytes = 0;  // 0: not measured
  std::optional<int64_t> budget_bytes;
};

// One line of what holds the peak: charges whose labels differ in numbers only are one holder, and
// each number that differs is written as *.
struct Holder {
  Account account{};
  std::string label;
  int64_t bytes = 0;
  int64_t charges = 0;
};
// The largest first.
std::vector<Holder> holders_at_peak(const Snapshot& snapshot);

// A table of the accounts at the peak and each one's own peak, and what stands beside them.
std::string accounts_table(const Snapshot& snapshot, const AccountsBeside& beside = {});
// The `count` largest holders of the peak, with bars.
std::string holders_table(const Snapshot& snapshot, size_t count = 10);
// "fits: ..." or "does not fit: ...", one sentence with what is needed, the budget, and the
// difference.
std::string budget_sentence(const Snapshot& snapshot, const AccountsBeside& beside);
// All of it, as `plan` and `train` print it.
std::string accounts_report(const Snapshot& snapshot, const AccountsBeside& beside = {});

// {"peak_bytes", "accounts", "account_peaks"}, as in ledger.json; "page_bytes" if any are.
nlohmann::ordered_json to_json(const Snapshot& snapshot);

}  // namespace cairn
