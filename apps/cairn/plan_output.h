// How a plan is shown: a table for people, one JSON object for programs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "plan/larger_batches.h"
#include "plan/remedies.h"

namespace cairn::program {

nlohmann::ordered_json to_json(const Plan& plan, const std::optional<Remedy>& remedy,
                               const std::optional<LargerBatches>& larger);
std::string to_text(const Plan& plan, const std::optional<Remedy>& remedy,
                    const std::optional<LargerBatches>& larger = {});

}  // namespace cairn::program
