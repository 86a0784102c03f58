// Rows of examples: one each, or packed by best fit with the longest first.
#include "data/packing.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "base/error.h"

namespace cairn {
namespace {

std::vector<int64_t> longest_first(std::span<const int64_t> lengths) {
  std::vector<int64_t> order(lengths.size());
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return lengths[static_cast<size_t>(a)] > lengths[static_cast<size_t>(b)];
  });
  return order;
}

}  // namespace

std::vector<int64_t> lengths_of(std::span<const Example> examples) {
  std::vector<int64_t> lengths;
  lengths.reserve(examples.size());
  for (const Example& example : examples) lengths.push_back(example.tokens());
  return lengths;
}

std::vector<Row> make_single_rows(std::span<const int64_t> lengths) {
  std::vector<Row> rows;
  rows.reserve(lengths.size());
  for (int64_t length : lengths) rows.push_back({{static_cast<int64_t>(rows.size())}, length});
  return rows;
}

std::vector<Row> pack_rows(std::span<const int64_t> lengths, int64_t capacity) {
  std::vector<Row> rows;
  std::set<std::pair<int64_t, size_t>> room;  // of each row: tokens left, its index
  for (int64_t i : longest_first(lengths)) {
    const int64_t length = lengths[static_cast<size_t>(i)];
    if (length > capacity)
      throw UserError(fmt::format(
          "sample {} has {} tokens and a packed row holds {}; raise cutoff_len, or cut the sample",
          i, length, capacity));
    size_t row = rows.size();
    // The least room that is enough, and of rows with that room the first.
    if (const auto best = room.lower_bound({length, 0}); best != room.end()) {
      row = best->second;
      room.erase(best);
    } else {
      rows.emplace_back();
    }
    rows[row].examples.push_back(i);
    rows[row].tokens += length;
    room.insert({capacity - rows[row].tokens, row});
  }
  for (Row& row : rows) std::sort(row.examples.begin(), row.examples.end());
  std::sort(rows.begin(), rows.end(),
            [](const Row& a, const Row& b) { return a.examples[0] < b.examples[0]; });
  return rows;
}

}  // namespace cairn
