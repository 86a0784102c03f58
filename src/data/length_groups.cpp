// Grouping by length: pieces of a random order, each sorted.
#include "data/length_groups.h"

#include <algorithm>

#include "base/error.h"

namespace cairn {
namespace {

// Batches in a piece: at most 50, and at least four pieces, so that enough of the order stays
// random.
int64_t batches_in_piece(int64_t entries, int64_t batch) {
  constexpr int64_t kMost = 50, kPieces = 4;
  return std::clamp<int64_t>(entries / (batch * kPieces), 1, kMost);
}

}  // namespace

std::vector<int64_t> group_by_length(std::vector<int64_t> order, std::span<const int64_t> lengths,
                                     int64_t batch) {
  CAIRN_CHECK(order.size() == lengths.size() && batch >= 1,
              "[length groups] wanted an order of {} lengths and a batch, got {} and {}",
              lengths.size(), order.size(), batch);
  const auto length_of = [&](int64_t i) { return lengths[static_cast<size_t>(i)]; };
  const auto entries = static_cast<int64_t>(order.size());
  const int64_t piece = batch * batches_in_piece(entries, batch);
  auto longest = order.begin();
  for (int64_t begin = 0; begin < entries; begin += piece) {
    const auto first = order.begin() + begin;
    std::stable_sort(first, order.begin() + std::min(begin + piece, entries),
                     [&](int64_t a, int64_t b) { return length_of(a) > length_of(b); });
    if (length_of(*first) > length_of(*longest)) longest = first;
  }
  if (!order.empty()) std::swap(*order.begin(), *longest);
  return order;
}

}  // namespace cairn
