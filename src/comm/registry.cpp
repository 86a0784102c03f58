#include "comm/registry.h"

#include <cstdlib>

#include "comm/launch.h"
#include "comm/rehearsal/rehearsal_communicator.h"
#include "comm/solo/solo_communicator.h"
#include "comm/threads/thread_ranks.h"

namespace cairn {

std::unique_ptr<Communicator> open_solo() { return std::make_unique<SoloCommunicator>(); }

std::unique_ptr<Communicator> open_rehearsal_rank(World world) {
  return std::make_unique<RehearsalCommunicator>(world);
}

std::vector<std::unique_ptr<Communicator>> open_thread_ranks(int size,
                                                             std::chrono::milliseconds timeout) {
  const auto shared = std::make_shared<ThreadRanks>(size, timeout);
  std::vector<std::unique_ptr<Communicator>> ranks;
  for (int rank = 0; rank < size; ++rank) ranks.push_back(ThreadRanks::open(shared, rank));
  return ranks;
}

World launched_world() { return read_launch(std::getenv).world; }

int launched_ranks_here() { return read_launch(std::getenv).ranks_here; }

}  // namespace cairn
