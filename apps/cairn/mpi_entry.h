// Where the program starts and ends MPI, which a process may do once. The library does neither.
#pragma once

namespace cairn::program {

void begin_mpi();
void end_mpi();
// Ends every rank of the job with that exit code.
void abort_mpi(int code);

}  // namespace cairn::program
