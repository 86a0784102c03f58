#include "ranks.h"

#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "comm/registry.h"
#include "commands.h"
#include "mpi_entry.h"
#include "streams.h"

namespace cairn::program {
namespace {

// Rank 0 speaks first, and then ends the others: who is still here has something else to say.
void let_others_speak(int rank) {
  std::this_thread::sleep_for(std::chrono::milliseconds(1500 + 100 * std::min(rank, 100)));
}

int run_as_rank(World world, const std::function<int64_t()>& begin,
                const std::function<int(Communicator&)>& body) {
  const auto answered = [&](const std::string& prefix) {
    if (world.rank > 0) let_others_speak(world.rank);
    return answer_error(prefix.c_str());
  };
  std::unique_ptr<Communicator> ranks;
  try {
    ranks = open_mpi_rank(world, begin_mpi, end_mpi, begin());
  } catch (...) {
    return answered("");
  }
  int code = kOther;
  try {
    code = body(*ranks);
  } catch (...) {
    code = answered(world.rank == 0 ? "" : fmt::format("rank {}: ", world.rank));
  }
  // Ranks that stopped did so together.
  if (code != kDone && code != kStopped) abort_mpi(code);
  return code;
}

}  // namespace

int run_on_ranks(const std::function<int64_t()>& begin,
                 const std::function<int(Communicator&)>& body) {
  const World world = launched_world();
  if (world.size > 1) return run_as_rank(world, begin, body);
  begin();
  return body(*open_solo());
}

}  // namespace cairn::program
