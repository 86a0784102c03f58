// The ledger as plain data: bytes of every tensor, by what they are for. The process itself is not
// in it; its bytes stand beside.
#pragma once

#include <cstdint>

namespace cairn {

// The five accounts. Every tensor byte is in one of them.
struct AccountBytes {
  int64_t weights = 0;
  int64_t gradients = 0;
  int64_t optimizer = 0;
  int64_t activations = 0;
  int64_t workspace = 0;

  int64_t total() const { return weights + gradients + optimizer + activations + workspace; }
  bool operator==(const AccountBytes&) const = default;
};

struct MemoryPeak {
  int64_t peak_bytes = 0;
  AccountBytes accounts;       // at the moment of the peak: they add up to it
  AccountBytes account_peaks;  // each account's own peak
  int64_t page_bytes = 0;      // in page files on disk
  bool operator==(const MemoryPeak&) const = default;
};

}  // namespace cairn
