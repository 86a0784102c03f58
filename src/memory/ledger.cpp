#include "memory/ledger.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"
#include "base/error.h"

namespace cairn {
namespace {
constexpr size_t index_of(Place place) { return static_cast<size_t>(place); }
constexpr size_t index_of(Account account) { return static_cast<size_t>(account); }
}  // namespace

Charge::~Charge() {
  if (ledger_) ledger_->release(slot_);
}

Ledger::Ledger() { labels_.push_back({0, ""}); }

Charge Ledger::charge(Account account, Place place, std::string_view label, int64_t bytes) {
  CAIRN_CHECK(bytes >= 0, "[ledger] wanted at least 0 bytes for '{}', got {}", label, bytes);
  const size_t at = index_of(place);
  if (budget_[at] && total_[at] + bytes > *budget_[at])
    throw OutOfBudget(
        fmt::format("{} for '{}' ({}) do not fit: {} of {} are in use", format_bytes(bytes), label,
                    name_of(account), format_bytes(total_[at]), format_bytes(*budget_[at])),
        snapshot(), bytes);

  uint32_t slot;
  if (free_slots_.empty()) {
    slot = static_cast<uint32_t>(entries_.size());
    entries_.emplace_back();
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
  }
  entries_[slot] = {label_of(scope_, label), account, place, phase_, bytes};

  total_[at] += bytes;
  int64_t& held = current_[at][index_of(account)];
  held += bytes;
  int64_t& mark = marks_.account_peaks[at][index_of(account)];
  mark = std::max(mark, held);
  if (total_[at] > marks_.peak[at]) {
    marks_.peak[at] = total_[at];
    marks_.accounts[at] = current_[at];
    marks_.peak_phase[at] = phase_;
    if (place == Place::device) peak_is_now_ = true;
  }
  return Charge(this, slot, bytes);
}

void Ledger::release(uint32_t slot) {
  Entry& entry = entries_[slot];
  if (entry.place == Place::device && peak_is_now_) keep_live_at_peak();
  total_[index_of(entry.place)] -= entry.bytes;
  current_[index_of(entry.place)][index_of(entry.account)] -= entry.bytes;
  entry.bytes = -1;
  free_slots_.push_back(slot);
}

void Ledger::keep_live_at_peak() {
  live_at_peak_.clear();
  for (const Entry& entry : entries_)
    if (entry.bytes > 0 && entry.place == Place::device) live_at_peak_.push_back(entry);
  peak_is_now_ = false;
}

uint32_t Ledger::label_of(uint32_t parent, std::string_view name) {
  std::string key = std::to_string(parent);
  key += '/';
  key += name;
  const auto [found, added] = label_index_.try_emplace(key, static_cast<uint32_t>(labels_.size()));
  if (added) labels_.push_back({parent, std::string(name)});
  return found->second;
}

std::string Ledger::full_label(uint32_t label) const {
  if (label == 0) return "";
  const std::string parent = full_label(labels_[label].parent);
  return parent.empty() ? labels_[label].name : parent + " / " + labels_[label].name;
}

void Ledger::set_budget(Place place, std::optional<int64_t> bytes) {
  budget_[index_of(place)] = bytes;
}

int64_t Ledger::current(Account account, Place place) const {
  return current_[index_of(place)][index_of(account)];
}

int64_t Ledger::current(Place place) const { return total_[index_of(place)]; }

Snapshot Ledger::snapshot() const {
  Snapshot snapshot = marks_;
  snapshot.current = total_;
  const std::vector<Entry>& live = peak_is_now_ ? entries_ : live_at_peak_;
  for (const Entry& entry : live)
    if (entry.bytes > 0 && entry.place == Place::device)
      snapshot.live_at_peak.push_back(
          {entry.account, entry.place, entry.phase, full_label(entry.label), entry.bytes});
  std::stable_sort(snapshot.live_at_peak.begin(), snapshot.live_at_peak.end(),
                   [](const LiveCharge& a, const LiveCharge& b) { return a.bytes > b.bytes; });
  return snapshot;
}

Ledger::Scope::Scope(Ledger& ledger, std::string_view name)
    : ledger_(ledger), parent_(ledger.scope_) {
  ledger_.scope_ = ledger_.label_of(parent_, name);
}

Ledger::Scope::~Scope() { ledger_.scope_ = parent_; }

}  // namespace cairn
