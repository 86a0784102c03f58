#include "comm/registry.h"

#include <cstdlib>

#include "comm/rehearsal/rehearsal_communicator.h"
#include "comm/solo/solo_communicator.h"
#include "comm/threads/thread_ranks.h"

namespace cairn {
namespace {

// The first of the variables that holds a number, or `otherwise`.
int number_of(std::initializer_list<const char*> names, int otherwise) {
  for (const char* name : names)
    if (const char* const text = std::getenv(name); text && *text)
      return static_cast<int>(std::strtol(text, nullptr, 10));
  return otherwise;
}

}  // namespace

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

// Open MPI's mpirun tells its ranks by these.
World launched_world() {
  return {number_of({"OMPI_COMM_WORLD_RANK"}, 0), number_of({"OMPI_COMM_WORLD_SIZE"}, 1)};
}

int launched_ranks_here() { return number_of({"OMPI_COMM_WORLD_LOCAL_SIZE"}, 1); }

}  // namespace cairn
