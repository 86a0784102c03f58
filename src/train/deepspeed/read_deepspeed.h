// Reading a DeepSpeed JSON through the table of its keys. A key that nobody knows is refused with
// the nearest one, as DeepSpeed refuses it; one that starts with "_" is a comment.
#pragma once

#include "train/deepspeed/deepspeed_config.h"
#include "train/deepspeed/deepspeed_source.h"

namespace cairn {

// Throws UserError.
DeepspeedConfig parse_deepspeed(const DeepspeedSource& source);

}  // namespace cairn
