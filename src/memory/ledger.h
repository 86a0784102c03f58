// The ledger: every tensor byte has a charge here before a device is asked for it. It keeps current
// and peak bytes per account and place, and the list of live charges at the peak. One per rank.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "memory/account.h"

namespace cairn {

class Ledger;

// A move-only receipt: holding memory is holding a charge.
class Charge {
 public:
  Charge() = default;
  Charge(Charge&& other) noexcept { swap(other); }
  Charge& operator=(Charge&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Charge();

  int64_t bytes() const { return bytes_; }

 private:
  friend class Ledger;
  Charge(Ledger* ledger, uint32_t slot, int64_t bytes)
      : ledger_(ledger), slot_(slot), bytes_(bytes) {}
  void swap(Charge& other) noexcept {
    std::swap(ledger_, other.ledger_);
    std::swap(slot_, other.slot_);
    std::swap(bytes_, other.bytes_);
  }

  Ledger* ledger_ = nullptr;
  uint32_t slot_ = 0;
  int64_t bytes_ = 0;
};

// One line of the list of what was alive at the peak.
struct LiveCharge {
  Account account;
  Place place;
  Phase phase;
  std::string label;  // nested by scope: "step / block 3 / attention / scores"
  int64_t bytes;
};

// Plain data: what reports, doctor and tests read.
struct Snapshot {
  using PerAccount = std::array<int64_t, kNumAccounts>;
  std::array<int64_t, kNumPlaces> current{};           // bytes now, per place
  std::array<int64_t, kNumPlaces> peak{};              // the place's own peak
  std::array<PerAccount, kNumPlaces> accounts{};       // bytes at the place's peak
  std::array<PerAccount, kNumPlaces> account_peaks{};  // each account's own peak
  std::array<Phase, kNumPlaces> peak_phase{};          // the phase that held the peak
  std::vector<LiveCharge> live_at_peak;                // of Place::device, largest first

  int64_t peak_bytes() const { return peak[static_cast<size_t>(Place::device)]; }
  const PerAccount& accounts_at_peak() const {
    return accounts[static_cast<size_t>(Place::device)];
  }
  const PerAccount& peaks_of_accounts() const {
    return account_peaks[static_cast<size_t>(Place::device)];
  }
};

// A charge would exceed the budget. Thrown before the device is asked (exit code 3).
struct OutOfBudget : std::runtime_error {
  OutOfBudget(const std::string& text, Snapshot at, int64_t request)
      : std::runtime_error(text), snapshot(std::move(at)), requested_bytes(request) {}
  Snapshot snapshot;
  int64_t requested_bytes;
};

class Ledger {
 public:
  Ledger();
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  // Throws OutOfBudget if the place has a budget and the charge would exceed it.
  Charge charge(Account account, Place place, std::string_view label, int64_t bytes);

  // A name under which the charges of a scope nest.
  class Scope {
   public:
    Scope(Ledger& ledger, std::string_view name);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Ledger& ledger_;
    uint32_t parent_;
  };

  void set_budget(Place place, std::optional<int64_t> bytes);
  void set_phase(Phase phase) { phase_ = phase; }
  int64_t current(Account account, Place place = Place::device) const;
  int64_t current(Place place = Place::device) const;
  Snapshot snapshot() const;

 private:
  friend class Charge;
  struct Entry {
    uint32_t label = 0;
    Account account{};
    Place place{};
    Phase phase{};
    int64_t bytes = -1;  // -1: the slot is free
  };
  struct Label {
    uint32_t parent;
    std::string name;
  };

  void release(uint32_t slot);
  uint32_t label_of(uint32_t parent, std::string_view name);
  std::string full_label(uint32_t label) const;
  void keep_live_at_peak();

  std::vector<Label> labels_;
  std::unordered_map<std::string, uint32_t> label_index_;
  std::vector<Entry> entries_;
  std::vector<uint32_t> free_slots_;
  std::vector<Entry> live_at_peak_;
  bool peak_is_now_ = false;  // the device's peak is the present; copy before the first release
  uint32_t scope_ = 0;
  Phase phase_ = Phase::load;
  std::array<Snapshot::PerAccount, kNumPlaces> current_{};
  std::array<int64_t, kNumPlaces> total_{};
  std::array<std::optional<int64_t>, kNumPlaces> budget_{};
  Snapshot marks_;  // peaks so far; its live list stays empty
};

}  // namespace cairn
