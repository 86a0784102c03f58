// Remedies: what makes a plan fit that does not, the cheapest first. Each is a change of the
// recipe, rehearsed before it is offered; no change is offered that the plan fits without.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "plan/plan.h"

namespace cairn {

struct Remedy {
  std::string keys;  // what to write into the recipe, or after it
  std::string cost;  // what it costs, in words
  Plan plan;         // rehearsed; fits
};

// The first changes that fit the budget of `plan`, or none. `rehearse_again` plans a changed recipe
// as `plan` was made.
std::optional<Remedy> find_remedy(const Plan& plan,
                                  const std::function<Plan(const Recipe&)>& rehearse_again);

}  // namespace cairn
