// Without MPI: open_mpi_rank refuses before any of these is called.
#include "mpi_entry.h"

namespace cairn::program {

void begin_mpi() {}
void end_mpi() {}
void abort_mpi(int) {}

}  // namespace cairn::program
