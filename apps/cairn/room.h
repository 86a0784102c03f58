// What a run may hold, and the answer where its plan needs more.
#pragma once

#include <cstdint>

#include "comm/communicator.h"
#include "plan/plan.h"

namespace cairn::program {

// What this rank may hold, what its machine has to give it, and what its process holds already:
// alike on all ranks, so that they plan alike.
struct Room {
  int64_t budget = 0, machine = 0, runtime = 0;
};
Room agree_on_room(const Recipe& recipe, Communicator& ranks);

// Whether the plan keeps to the budget, and the machine has what it needs.
bool has_room(const Plan& plan, const Room& room);
// Says on stderr what it does not keep to, with the cheapest remedy.
void refuse(const Plan& plan, const Room& room, const PreparedRun& run,
            const TargetProfile& profile);

}  // namespace cairn::program
