// SIGTERM, SIGINT and SIGUSR1 (which MPI launchers hand on to their ranks) while a run trains: the
// first asks for an end after the step under way, the second ends the process at once. The library
// owns no signal handler; this is the program's.
#pragma once

namespace cairn::program {

// `tells`: says so on stderr when one comes.
void stop_at_signals(bool tells);
bool stop_was_asked();

}  // namespace cairn::program
