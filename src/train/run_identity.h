// RunIdentity: what a run and a checkpoint of it must have in common, in words that can be compared
// and shown. Each is a name and a value: a key of the recipe, the model's shape, a checksum of the
// tokens it trains on.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace cairn {

struct PreparedRun;

struct RunIdentity {
  using Values = std::map<std::string, std::string>;
  Values fixed;       // states would mean nothing under another value: a difference is refused
  Values changeable;  // may change between two steps: a difference is said
  Values planned;     // the same, but known only once the run is planned
};

RunIdentity identify(const PreparedRun& run);
// One row of each tensor of the base model, as a checksum: enough to tell one model of a shape from
// another.
std::string sample_of_weights(const PreparedRun& run);

// "lora_rank is 8 there and 16 here", one a difference.
std::vector<std::string> list_differences(const RunIdentity::Values& there,
                                          const RunIdentity::Values& here);

}  // namespace cairn
