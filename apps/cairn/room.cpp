#include "room.h"

#include <algorithm>

#include "base/bytes.h"
#include "comm/registry.h"
#include "memory/machine.h"
#include "plan/remedies.h"
#include "plan_output.h"
#include "streams.h"
#include "train/prepare.h"

namespace cairn::program {
namespace {

// The budget allows more than there is.
void refuse_for_machine(const Plan& plan, const Room& room) {
  tell(to_text(plan, std::nullopt));
  tell(
      "cairn: memory_budget allows {}, but this machine has {} to give now and the run needs {}; "
      "free some, or lower memory_budget to what there is for a plan that fits; nothing was "
      "loaded\n",
      format_bytes(plan.budget_bytes), format_bytes(room.machine),
      format_bytes(plan.needed_bytes()));
}

}  // namespace

Room agree_on_room(const Recipe& recipe, Communicator& ranks) {
  const int64_t machine = default_budget_bytes() / launched_ranks_here();
  const std::vector<double> budgets =
      ranks.exchange(static_cast<double>(recipe.memory.memory_budget.value_or(machine)));
  const std::vector<double> machines = ranks.exchange(static_cast<double>(machine));
  const std::vector<double> runtimes = ranks.exchange(static_cast<double>(resident_bytes()));
  return {static_cast<int64_t>(*std::min_element(budgets.begin(), budgets.end())),
          static_cast<int64_t>(*std::min_element(machines.begin(), machines.end())),
          static_cast<int64_t>(*std::max_element(runtimes.begin(), runtimes.end()))};
}

bool has_room(const Plan& plan, const Room& room) {
  return plan.fits() && plan.needed_bytes() <= room.machine;
}

void refuse(const Plan& plan, const Room& room, const PreparedRun& run,
            const TargetProfile& profile) {
  if (plan.fits()) return refuse_for_machine(plan, room);
  const std::optional<Remedy> remedy = find_remedy(plan, [&](const Recipe& changed) {
    return plan_run(prepare_run(changed, run.spec.world), profile, plan.budget_bytes,
                    plan.runtime_bytes);
  });
  tell(to_text(plan, remedy));
  tell("cairn: {} does not fit the budget; nothing was loaded\n", run.recipe.output.output_dir);
}

}  // namespace cairn::program
