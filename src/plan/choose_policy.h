// Choosing a checkpoint policy: what each way of keeping costs a block is rehearsed, the cheapest
// mix within the budget is searched, and what is proposed is rehearsed before it is taken.
#pragma once

#include <vector>

#include "plan/chain_search.h"
#include "plan/rehearse.h"

namespace cairn {

// The members that `selective` computes again: those whose recomputation costs less than half as
// many rehearsed seconds a byte as that of the whole block does.
MemberSet choose_selective(const TrainSpec& spec, const TargetProfile& profile);

// A way of keeping, for so many blocks, and what it costs.
struct PolicyOption {
  PolicyTerm term;  // its count is the number of blocks
  ChainOption cost;
};
std::vector<PolicyOption> rehearse_options(const TrainSpec& spec, MemberSet selected,
                                           const TargetProfile& profile);

struct ChosenPolicy {
  PolicyChoice choice;
  Rehearsal rehearsal;
};
// The fastest policy whose rehearsal needs at most `budget_bytes`; if none fits, the one that needs
// the least. A step is `accumulation` micro-batches.
ChosenPolicy choose_policy(const TrainSpec& spec, MemberSet selected, int64_t accumulation,
                           const TargetProfile& profile, int64_t budget_bytes);

}  // namespace cairn
