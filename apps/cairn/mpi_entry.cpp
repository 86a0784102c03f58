// With MPI.
#include "mpi_entry.h"

#include <mpi.h>

#include "base/error.h"

namespace cairn::program {

// abort_mpi may come from another thread than the one that owns MPI.
void begin_mpi() {
  int provided = MPI_THREAD_SINGLE;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided) != MPI_SUCCESS ||
      provided < MPI_THREAD_MULTIPLE)
    throw CommError("MPI could not be started for several threads; use an Open MPI that has them");
}

void end_mpi() { MPI_Finalize(); }

void abort_mpi(int code) { MPI_Abort(MPI_COMM_WORLD, code); }

}  // namespace cairn::program
