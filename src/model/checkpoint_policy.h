// CheckpointPolicy: what each block keeps of its forward for its backward. A value per block,
// consulted in one function, BlockRunner::forward.
#pragma once

#include <cstdint>

namespace cairn {

enum class Keep : uint8_t {
  everything,  // nothing is computed twice
  input,       // the block's input only; the block is recomputed
};

struct CheckpointPolicy {
  Keep every_block = Keep::input;
  Keep of_block(int64_t) const { return every_block; }
};

}  // namespace cairn
