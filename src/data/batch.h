// Batch: examples joined end to end, without padding. cu_seqlens marks where each begins, positions
// restart at 0 in each, and no target crosses from one into the next.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/example.h"

namespace cairn {

struct Batch {
  std::vector<int32_t> ids;            // [tokens]
  std::vector<int32_t> positions;      // [tokens], 0.. within each segment
  std::vector<int32_t> samples;        // [tokens], which sample of the data set the token is of
  std::vector<int32_t> targets;        // [tokens], label of the next token, kIgnored at the last
  std::vector<int32_t> cu_seqlens;     // [segments + 1], 0 .. tokens
  std::vector<int32_t> labelled_rows;  // [labelled], rows whose target is not kIgnored, ascending
  std::vector<int32_t> labelled_targets;  // [labelled], targets[labelled_rows[i]]
  int64_t longest_segment = 0;            // tokens

  int64_t tokens() const { return static_cast<int64_t>(ids.size()); }
  int64_t segments() const {
    return cu_seqlens.empty() ? 0 : static_cast<int64_t>(cu_seqlens.size()) - 1;
  }
  int64_t labelled() const { return static_cast<int64_t>(labelled_rows.size()); }
};

// The examples in this order, which are samples 0, 1, ... An example without tokens is a
// programmer's mistake.
Batch make_batch(std::span<const Example* const> examples);

// What a step charges: the largest of each over every batch it will see, so no batch costs more.
struct Capacity {
  int64_t tokens = 0;
  int64_t longest_segment = 0;  // tokens
  int64_t segments = 0;
  int64_t labelled_rows = 0;

  bool operator==(const Capacity&) const = default;
};

Capacity capacity_of(const Batch& batch);
// The same without building the batch.
Capacity capacity_of(std::span<const Example* const> examples);
Capacity elementwise_max(const Capacity& a, const Capacity& b);

}  // namespace cairn
