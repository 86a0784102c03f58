// Which elements of which parameters each rank keeps. Shares are equal on every rank, so ledgers
// are; they end where rows, blocks of 8-bit states and blocks of 4-bit codes do.
#pragma once

#include "comm/communicator.h"
#include "model/model.h"
#include "train/sharding/sharding_settings.h"

namespace cairn {

// Before the model takes memory. One rank cuts nothing.
void cut_parameters(Model& model, const ShardingSettings& settings, World world);

}  // namespace cairn
