// SIGTERM and SIGINT while a run trains: the first asks for an end after the step under way, the
// second ends the process at once. The library owns no signal handler; this is the program's.
#pragma once

namespace cairn::program {

void stop_at_signals();
bool stop_was_asked();

}  // namespace cairn::program
