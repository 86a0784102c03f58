// How a process was started, by what its launcher left in the environment: as one rank of several,
// or alone. A pure function of it, because a rank and the batch script that starts it have many
// variables in common.
#pragma once

#include <functional>

#include "comm/communicator.h"

namespace cairn {

struct Launch {
  World world;
  int ranks_here = 1;  // on this machine
  bool operator==(const Launch&) const = default;
};

// The value of a variable, or null: std::getenv.
using Environment = std::function<const char*(const char* name)>;

Launch read_launch(const Environment& environment);

}  // namespace cairn
