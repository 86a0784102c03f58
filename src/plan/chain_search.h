// Chain search: the cheapest way to cut a chain of equal blocks into pieces, each kept in one of
// several ways, within a budget. A dynamic program over blocks and kept bytes: the chain DP of
// Beaumont et al. (2019) with several modes, for blocks that are alike.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace cairn {

// One way to treat so many neighbouring blocks.
struct ChainOption {
  int64_t blocks = 1;
  int64_t kept_bytes = 0;  // from their forward to their backward
  int64_t peak_bytes = 0;  // the most while they are worked on, kept_bytes included
  double seconds = 0;      // what their backward costs beyond the cheapest way
};

// The options of the pieces in order, by index; none if nothing fits. A piece that begins when
// `kept` bytes are held by those before it needs kept + peak_bytes <= budget. Kept bytes are
// rounded up to budget / slots: an answer never under-states.
std::optional<std::vector<size_t>> search_chain(std::span<const ChainOption> options,
                                                int64_t num_blocks, int64_t budget, int64_t slots);

}  // namespace cairn
