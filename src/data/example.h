// Example: one training sample as token ids and labels of the same length. A label of kIgnored
// trains nothing; the label at position t is the id that position t - 1 learns to predict.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cairn {

constexpr int32_t kIgnored = -100;

// Where a row was read from, to name it in messages. It is no part of what the row says: two rows
// are equal whatever their origins.
struct RowOrigin {
  int32_t dataset = -1;  // in the order they were named; -1: not known
  int64_t record = 0;    // in its data set, from 1
  bool operator==(const RowOrigin&) const { return true; }
};

// What a sampler and a plan need to know of an example.
struct ExampleSize {
  int64_t tokens = 0;
  int64_t trained_labels = 0;
};

struct Example {
  std::vector<int32_t> ids = {};  // [tokens]
  // [tokens], kIgnored or an id: that of the position itself, or the end of an answer.
  std::vector<int32_t> labels = {};
  RowOrigin origin = {};

  int64_t tokens() const { return static_cast<int64_t>(ids.size()); }
  // Labels that train: the first position has no predecessor, so its label never counts.
  int64_t trained_labels() const {
    int64_t count = 0;
    for (std::size_t t = 1; t < labels.size(); ++t) count += labels[t] != kIgnored;
    return count;
  }
  ExampleSize size() const { return {tokens(), trained_labels()}; }
  bool operator==(const Example&) const = default;
};

}  // namespace cairn
