// Runs a command on every rank of the launch: alone, or as one of the processes that mpirun
// started.
#pragma once

#include <functional>

#include "comm/communicator.h"

namespace cairn::program {

// Calls `begin`, which says for how long a rank may be silent, then `body`, and returns its exit
// code. Of several ranks, one that ends with another code than 0
// ends all; an error that more ranks than one meet is told once.
int run_on_ranks(const std::function<int64_t()>& begin,
                 const std::function<int(Communicator&)>& body);

// The error in flight as a sentence on stderr; returns its exit code.
int answer_error(const char* prefix = "");

}  // namespace cairn::program
