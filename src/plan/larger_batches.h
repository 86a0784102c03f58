// Larger batches: weights that other ranks or a page file hold come once a micro-batch, so a step
// of fewer and larger micro-batches, of the same samples, moves less. This finds the largest that
// fit.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "plan/plan.h"

namespace cairn {

struct LargerBatches {
  std::string keys;  // what to write into the recipe, or after it
  Plan plan;         // rehearsed; fits, moves less and takes no longer
};

// What a step sends to other ranks, and reads from and writes to the page file.
double moved_bytes(const Plan& plan);

// Nothing where `plan` does not fit, takes one micro-batch a step, or would move hardly less.
// `rehearse_again` plans a changed recipe as `plan` was made.
std::optional<LargerBatches> find_larger_batches(
    const Plan& plan, const std::function<Plan(const Recipe&)>& rehearse_again);

}  // namespace cairn
