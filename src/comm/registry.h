// The one place that names concrete transports.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "comm/communicator.h"

namespace cairn {

// One rank alone.
std::unique_ptr<Communicator> open_solo();
// One of many that are not there: nothing moves, all is counted.
std::unique_ptr<Communicator> open_rehearsal_rank(World world);

// Ranks of one process, each to be driven by a thread of its own. One that does not come within
// `timeout` is lost.
std::vector<std::unique_ptr<Communicator>> open_thread_ranks(int size,
                                                             std::chrono::milliseconds timeout);

// How this process was started: by an MPI launcher, as one rank of several, or alone.
World launched_world();
// How many ranks of the launch run on this machine.
int launched_ranks_here();

// This process as a rank of an MPI job. The program starts and ends MPI: `begin` and `end` are
// called on the thread that owns it, `end` unless a transfer failed. A rank that is silent for
// `timeout_seconds` is lost. Throws UserError where MPI is not built.
std::unique_ptr<Communicator> open_mpi_rank(World world, const std::function<void()>& begin,
                                            std::function<void()> end, int64_t timeout_seconds);

}  // namespace cairn
