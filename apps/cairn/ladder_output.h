// How a ladder is shown: tables for people, one JSON object for programs, and its picture.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "ladder_measure.h"

namespace cairn::program {

// One a rung; none where it was not run.
using MeasuredRungs = std::vector<std::optional<MeasuredRung>>;

std::string to_text(const LadderOptions& options, const Ladder& ladder,
                    const TargetProfile& profile, const MeasuredRungs& measured);
nlohmann::ordered_json to_json(const LadderOptions& options, const Ladder& ladder,
                               const TargetProfile& profile, const MeasuredRungs& measured);
std::string to_svg(const LadderOptions& options, const Ladder& ladder,
                   const MeasuredRungs& measured);

}  // namespace cairn::program
