#include "model/pass.h"

#include "model/streamed_weights.h"

namespace cairn {

void Pass::open_weights(size_t block) const {
  if (weights) weights->open(block);
}

}  // namespace cairn
