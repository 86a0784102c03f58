// What stands in for MPI where it is not built.
#include "base/error.h"
#include "comm/registry.h"

namespace cairn {

std::unique_ptr<Communicator> open_mpi_rank(World world, const std::function<void()>&,
                                            std::function<void()>, int64_t) {
  throw UserError(
      fmt::format("this process is one of {} that mpirun started, and MPI is not built: configure "
                  "with preset mpi, or start one process",
                  world.size));
}

}  // namespace cairn
