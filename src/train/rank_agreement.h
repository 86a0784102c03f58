// What the ranks of a run must have in common beside their transfers: the recipe, the data, the
// weights, and the checkpoint that they go on from.
#pragma once

#include "comm/communicator.h"
#include "train/prepare.h"

namespace cairn {

// Before the first step, on all ranks together. Throws CommError that names the first rank and what
// of it is different; nothing where there is one rank.
void check_ranks_agree(const PreparedRun& run, Communicator& ranks);

}  // namespace cairn
