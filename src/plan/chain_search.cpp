#include "plan/chain_search.h"

#include <algorithm>
#include <limits>

#include "base/bytes.h"

namespace cairn {
namespace {

constexpr double kImpossible = std::numeric_limits<double>::infinity();

// The cheapest way to reach a state, and how.
struct Best {
  double seconds = kImpossible;
  size_t option = 0;
  int64_t kept_before = 0;  // in slots
};

}  // namespace

std::optional<std::vector<size_t>> search_chain(std::span<const ChainOption> options,
                                                int64_t num_blocks, int64_t budget, int64_t slots) {
  if (budget <= 0) return std::nullopt;
  const int64_t slot = ceil_div(budget, slots);
  const auto width = static_cast<size_t>(slots) + 1;
  std::vector<Best> table(static_cast<size_t>(num_blocks + 1) * width);
  const auto at = [&](int64_t block, int64_t kept) -> Best& {
    return table[static_cast<size_t>(block) * width + static_cast<size_t>(kept)];
  };
  at(0, 0).seconds = 0;
  for (int64_t block = 0; block < num_blocks; ++block)
    for (int64_t kept = 0; kept <= slots; ++kept) {
      const double before = at(block, kept).seconds;
      if (before == kImpossible) continue;
      for (size_t i = 0; i < options.size(); ++i) {
        const ChainOption& option = options[i];
        const int64_t kept_after = kept + ceil_div(option.kept_bytes, slot);
        if (block + option.blocks > num_blocks || kept_after > slots ||
            kept * slot + option.peak_bytes > budget)
          continue;
        Best& best = at(block + option.blocks, kept_after);
        if (before + option.seconds < best.seconds) best = {before + option.seconds, i, kept};
      }
    }

  int64_t kept = 0;
  for (int64_t k = 1; k <= slots; ++k)
    if (at(num_blocks, k).seconds < at(num_blocks, kept).seconds) kept = k;
  if (at(num_blocks, kept).seconds == kImpossible) return std::nullopt;
  std::vector<size_t> pieces;
  for (int64_t block = num_blocks; block > 0;) {
    const Best& best = at(block, kept);
    pieces.push_back(best.option);
    block -= options[best.option].blocks;
    kept = best.kept_before;
  }
  std::reverse(pieces.begin(), pieces.end());
  return pieces;
}

}  // namespace cairn
