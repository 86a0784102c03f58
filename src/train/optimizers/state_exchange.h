// Taking the states out of an optimizer, tensor by tensor in f32, and into one that codes them in
// another way: 32 bits become 8 bits and 8 bits become 32 between two steps of a run.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "train/optimizers/optimizer.h"

namespace cairn {

// One stretch of one state: "m", "v" or "master" of a parameter, from element `first` on.
struct StateStretch {
  const Parameter& parameter;
  std::string_view state;
  int64_t first = 0;
};

// Hands out every state; `values` [n] f32 is on the device and valid during the call.
using StateSink = std::function<void(const StateStretch&, ConstView values)>;
void export_states(const Exec& exec, Optimizer& optimizer, const StateSink& sink);

// Asks for every state; `values` [n] f32 is on the device, to be filled. `updates` have been made
// with them. Returns a sentence if states in `coding_before` are coded otherwise from here on, else
// nothing.
using StateSource = std::function<void(const StateStretch&, View values)>;
std::string import_states(const Exec& exec, Optimizer& optimizer, const StateSource& source,
                          int64_t updates, StateCoding coding_before);

}  // namespace cairn
