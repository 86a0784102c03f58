// Packing: whole examples put into rows of a fixed capacity, so that a row is full. A row is what a
// micro-batch counts in; its examples lie end to end and never see each other (data/batch.h).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/example.h"

namespace cairn {

struct Row {
  std::vector<int64_t> examples;  // indices, ascending
  int64_t tokens = 0;

  bool operator==(const Row&) const = default;
};

// Tokens of each example.
std::vector<int64_t> lengths_of(std::span<const Example> examples);

// Each example a row of its own.
std::vector<Row> make_single_rows(std::span<const int64_t> lengths);

// Best fit, longest first: each example goes into the fullest row that still has room for it; of
// equal examples the first in the data goes first, of equal rows into the one opened first. Takes
// O(n log n). The rows come in the order of their first examples. Throws UserError for an example
// longer than `capacity`.
std::vector<Row> pack_rows(std::span<const int64_t> lengths, int64_t capacity);

}  // namespace cairn
