// Writing and reading what a run needs to go on: trained weights as they are held, and the states
// of their optimizer as they are coded. Both pass through small rooms of the arena, the same in
// every run, so that the plan has them.
#pragma once

#include <string>

#include "train/optimizers/optimizer.h"
#include "train/state_files.h"

namespace cairn {

// Writes the states file `path`. Null: the memory is taken, and nothing else is done.
void write_states(const Exec& exec, Optimizer& optimizer, const std::string* path);

// Fills weights and states. Where the optimizer codes a state otherwise than the files do, it is
// decoded and coded anew. Null: as above. Returns a sentence if states in another coding were read,
// else nothing. Throws DamagedFile for a state that is missing or of another size.
std::string read_states(const Exec& exec, Optimizer& optimizer, const StateFiles* files);

}  // namespace cairn
