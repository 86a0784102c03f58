// Another process of this very program.
#pragma once

#include <string>
#include <vector>

namespace cairn::program {

// Called by the process that was started: it ends when the one that waits for it does.
void end_with_parent();

// Runs it with those arguments to its end and returns what it wrote to stdout; stderr is shared.
// Throws std::runtime_error if it cannot be started or ends with anything but 0.
std::string output_of_own_process(const std::vector<std::string>& arguments);

}  // namespace cairn::program
