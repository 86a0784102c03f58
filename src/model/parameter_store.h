// ParameterStore: where the weights of a unit (the embedding, a block, the head) come from when
// they are not in memory for the whole run: a page file, or the other ranks.
#pragma once

#include <cstddef>

namespace cairn {

// Units are numbered in the order of the forward pass.
inline constexpr size_t kEmbeddingUnit = 0;
constexpr size_t unit_of_block(size_t block) { return block + 1; }
constexpr size_t head_unit(size_t num_blocks) { return num_blocks + 1; }

class ParameterStore {
 public:
  virtual ~ParameterStore() = default;
  // The unit's parameters have their values until a unit other than a neighbour is opened. Starts
  // to fetch the next unit of a walk.
  virtual void open(size_t unit) = 0;
  // The pass is over: what was fetched for it may go.
  virtual void close() = 0;
};

}  // namespace cairn
