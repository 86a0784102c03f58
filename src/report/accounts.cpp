// The ledger as tables: the accounts, then what holds the peak. Labels that differ in numbers only,
// such as those of the blocks, are told together, or a model of 30 blocks would fill the list with
// one tensor.
#include "report/accounts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <tuple>

#include "base/bytes.h"
#include "report/figures.h"
#include "report/table.h"

namespace cairn {
namespace {

constexpr int kBarColumns = 24;

std::string share_text(int64_t part, int64_t whole) {
  if (whole <= 0) return "-";
  return fmt::format("{:.1f} %", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string bar_of(int64_t part, int64_t whole) {
  return format_bar(static_cast<double>(part), static_cast<double>(whole), kBarColumns);
}

// The label cut into runs of digits and what lies between: "block 12 / q" -> "block ", "12", " /
// q".
std::vector<std::string> label_pieces(const std::string& label) {
  std::vector<std::string> pieces;
  bool in_digits = true;  // pieces with an odd index are digits
  for (char c : label) {
    const bool digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
    if (pieces.empty() || digit != in_digits) {
      if (pieces.empty() && digit) pieces.emplace_back();
      pieces.emplace_back();
      in_digits = digit;
    }
    pieces.back() += c;
  }
  return pieces;
}

struct Group {
  std::vector<std::string> pieces;  // "*" where members differ
  Holder holder;
};

std::string text_between_digits(const std::vector<std::string>& pieces) {
  std::string text;
  for (size_t i = 0; i < pieces.size(); i += 2) text += pieces[i] + '\x1f';
  return text;
}

int64_t needed_bytes(const Snapshot& snapshot, const AccountsBeside& beside) {
  return std::max(snapshot.peak_bytes(), beside.arena_bytes) + beside.runtime_bytes;
}

Account largest_account(const Snapshot& snapshot) {
  const Snapshot::PerAccount& accounts = snapshot.accounts_at_peak();
  return kAccounts[static_cast<size_t>(std::max_element(accounts.begin(), accounts.end()) -
                                       accounts.begin())];
}

int64_t paged_bytes(const Snapshot& snapshot) {
  return snapshot.peak[static_cast<size_t>(Place::page)];
}

nlohmann::ordered_json per_account_json(const Snapshot::PerAccount& bytes) {
  nlohmann::ordered_json object;
  for (Account account : kAccounts)
    object[std::string(name_of(account))] = bytes[static_cast<size_t>(account)];
  return object;
}

}  // namespace

std::vector<Holder> holders_at_peak(const Snapshot& snapshot) {
  std::map<std::tuple<Account, std::string>, Group> groups;
  for (const LiveCharge& charge : snapshot.live_at_peak) {
    std::vector<std::string> pieces = label_pieces(charge.label);
    Group& group = groups[{charge.account, text_between_digits(pieces)}];
    if (group.holder.charges == 0) group.pieces = pieces;
    for (size_t i = 0; i < std::min(pieces.size(), group.pieces.size()); ++i)
      if (pieces[i] != group.pieces[i]) group.pieces[i] = "*";
    group.holder.account = charge.account;
    group.holder.bytes += charge.bytes;
    ++group.holder.charges;
  }
  std::vector<Holder> holders;
  for (auto& [key, group] : groups) {
    for (const std::string& piece : group.pieces) group.holder.label += piece;
    holders.push_back(std::move(group.holder));
  }
  std::stable_sort(holders.begin(), holders.end(),
                   [](const Holder& a, const Holder& b) { return a.bytes > b.bytes; });
  return holders;
}

std::string accounts_table(const Snapshot& snapshot, const AccountsBeside& beside) {
  Table table({{"account"},
               {"at the peak", Align::right},
               {"share", Align::right},
               {""},
               {"own peak", Align::right}});
  const int64_t peak = snapshot.peak_bytes();
  for (Account account : kAccounts) {
    const int64_t bytes = snapshot.accounts_at_peak()[static_cast<size_t>(account)];
    table.add_row({std::string(name_of(account)), format_bytes(bytes), share_text(bytes, peak),
                   bar_of(bytes, peak),
                   format_bytes(snapshot.peaks_of_accounts()[static_cast<size_t>(account)])});
  }
  table.add_rule();
  table.add_row({"peak", format_bytes(peak)});
  if (beside.arena_bytes > 0)
    table.add_row({"alignment and placement", format_bytes(beside.arena_bytes - peak)});
  if (beside.runtime_bytes > 0) table.add_row({"runtime", format_bytes(beside.runtime_bytes)});
  if (beside.arena_bytes > 0 || beside.runtime_bytes > 0)
    table.add_row({"needed", format_bytes(needed_bytes(snapshot, beside))});
  if (const int64_t paged = paged_bytes(snapshot); paged > 0)
    table.add_row({"on disk, in page_dir", format_bytes(paged)});
  return table.to_string();
}

std::string holders_table(const Snapshot& snapshot, size_t count) {
  const std::vector<Holder> holders = holders_at_peak(snapshot);
  if (holders.empty()) return "";
  Table table({{"held", Align::right}, {""}, {"account"}, {"by"}});
  const size_t shown = std::min(count, holders.size());
  for (size_t i = 0; i < shown; ++i) {
    const Holder& holder = holders[i];
    const std::string times = holder.charges > 1 ? fmt::format(" (x {})", holder.charges) : "";
    table.add_row({format_bytes(holder.bytes), bar_of(holder.bytes, snapshot.peak_bytes()),
                   std::string(name_of(holder.account)), holder.label + times});
  }
  int64_t rest = 0;
  for (size_t i = shown; i < holders.size(); ++i) rest += holders[i].bytes;
  if (rest > 0)
    table.add_row({format_bytes(rest), bar_of(rest, snapshot.peak_bytes()), "",
                   fmt::format("{} more", holders.size() - shown)});
  return table.to_string();
}

std::string budget_sentence(const Snapshot& snapshot, const AccountsBeside& beside) {
  const int64_t needed = needed_bytes(snapshot, beside);
  if (!beside.budget_bytes) return fmt::format("{} are needed.", format_bytes(needed));
  const int64_t budget = *beside.budget_bytes;
  if (needed <= budget)
    return fmt::format("fits: {} of {} are needed, {} stay free.", format_bytes(needed),
                       format_bytes(budget), format_bytes(budget - needed));
  return fmt::format(
      "does not fit: {} are needed, {} more than the budget of {}; the largest account "
      "is {}.",
      format_bytes(needed), format_bytes(needed - budget), format_bytes(budget),
      name_of(largest_account(snapshot)));
}

std::string accounts_report(const Snapshot& snapshot, const AccountsBeside& beside) {
  const size_t device = static_cast<size_t>(Place::device);
  return fmt::format("{}\nThe peak is in phase {}; it is held by\n{}\n{}\n",
                     accounts_table(snapshot, beside), name_of(snapshot.peak_phase[device]),
                     holders_table(snapshot), budget_sentence(snapshot, beside));
}

nlohmann::ordered_json to_json(const Snapshot& snapshot) {
  nlohmann::ordered_json json = {{"peak_bytes", snapshot.peak_bytes()},
                                 {"accounts", per_account_json(snapshot.accounts_at_peak())},
                                 {"account_peaks", per_account_json(snapshot.peaks_of_accounts())}};
  if (const int64_t paged = paged_bytes(snapshot); paged > 0) json["page_bytes"] = paged;
  return json;
}

}  // namespace cairn
