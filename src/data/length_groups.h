// Length groups: an order in which examples of like length stand together, as Hugging Face's
// LengthGroupedSampler makes it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace cairn {

// `order` is a permutation of the indices of `lengths`. Pieces of at most 50 batches of `batch`
// entries are sorted, the longest first; of equal lengths the earlier in `order` stays first. The
// longest entry of all comes first, so that the first batch is the largest.
std::vector<int64_t> group_by_length(std::vector<int64_t> order, std::span<const int64_t> lengths,
                                     int64_t batch);

}  // namespace cairn
