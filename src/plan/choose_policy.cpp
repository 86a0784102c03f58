#include "plan/choose_policy.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/error.h"

namespace cairn {
namespace {

constexpr int64_t kSlots = 500;
// Proposals are made for a budget less what placement turned out to cost, so many times.
constexpr int kProposals = 4;

// The spec with another number of blocks under one policy; what follows a step is left out.
TrainSpec shortened(const TrainSpec& spec, int64_t blocks, CheckpointPolicy policy) {
  TrainSpec shorter = spec;
  shorter.model.config.num_layers = blocks;
  shorter.checkpointing = std::move(policy);
  shorter.eval_capacity.reset();
  return shorter;
}

// What one more piece adds: two runs that differ in one piece.
struct PieceCost {
  int64_t kept_bytes = 0, peak_bytes = 0;
  double seconds = 0;
};

PieceCost rehearse_piece(const TrainSpec& spec, int64_t blocks, const PolicyTerm& term,
                         MemberSet selected, const TargetProfile& profile) {
  PolicyTerm piece = term;
  piece.count = blocks;
  const PolicyChoice one{{piece}}, two{{piece, piece}};
  const Rehearsal single =
      rehearse(shortened(spec, blocks, make_policy(one, blocks, selected)), 1, profile);
  const Rehearsal twice =
      rehearse(shortened(spec, 2 * blocks, make_policy(two, 2 * blocks, selected)), 1, profile);
  const auto activations = static_cast<size_t>(Account::activations);
  PieceCost cost;
  cost.kept_bytes = twice.snapshot.peaks_of_accounts()[activations] -
                    single.snapshot.peaks_of_accounts()[activations];
  cost.peak_bytes = single.snapshot.peak_bytes() - single.resident_bytes;
  // Paging counts in full here: whether it hides behind computing is seen in the whole step.
  cost.seconds = twice.step_seconds - single.step_seconds;
  return cost;
}

std::vector<PolicyTerm> terms_for(int64_t num_blocks) {
  std::vector<PolicyTerm> terms;
  for (PolicyKind kind :
       {PolicyKind::none, PolicyKind::selective, PolicyKind::block, PolicyKind::offload})
    terms.push_back({.kind = kind, .count = 1});
  for (int64_t segment : {2, 3, 4, 6, 8, 12})
    if (segment <= num_blocks)
      for (PolicyKind kind : {PolicyKind::every, PolicyKind::nested})
        terms.push_back({.kind = kind, .segment = segment, .count = segment});
  return terms;
}

// Pieces with much beside what they keep come first, while little is kept yet: of any two
// neighbours that order needs the least. Neighbours of one kind become one term.
PolicyChoice choice_of(std::vector<size_t> pieces, const std::vector<PolicyOption>& options) {
  const auto beside = [&](size_t piece) {
    const ChainOption& cost = options[piece].cost;
    return cost.peak_bytes - cost.kept_bytes;
  };
  std::sort(pieces.begin(), pieces.end(),
            [&](size_t a, size_t b) { return std::pair(beside(b), b) < std::pair(beside(a), a); });
  PolicyChoice choice;
  choice.terms.clear();
  for (size_t piece : pieces) {
    const PolicyTerm& term = options[piece].term;
    PolicyTerm* const last = choice.terms.empty() ? nullptr : &choice.terms.back();
    if (last && last->kind == term.kind && last->segment == term.segment)
      last->count += term.count;
    else
      choice.terms.push_back(term);
  }
  return choice;
}

std::vector<PolicyChoice> plain_policies() {
  std::vector<PolicyChoice> choices;
  for (const char* words : {"none", "selective", "block", "sqrt", "nested"})
    choices.push_back(*parse_policy(words));
  return choices;
}

class Chooser {
 public:
  Chooser(const TrainSpec& spec, MemberSet selected, int64_t accumulation,
          const TargetProfile& profile, int64_t budget_bytes)
      : spec_(spec),
        selected_(selected),
        accumulation_(accumulation),
        profile_(profile),
        budget_bytes_(budget_bytes) {}

  ChosenPolicy choose() {
    // What stays from load to the end is the same under every policy.
    try_policy(*parse_policy("offload"));
    if (resident_bytes_ >= budget_bytes_) return std::move(*leanest_);
    for (const PolicyChoice& choice : plain_policies()) try_policy(choice);
    // Nothing is faster than keeping everything.
    if (best_ && best_->choice == plain_policies().front()) return std::move(*best_);
    search();
    return std::move(best_ ? *best_ : *leanest_);
  }

 private:
  // Returns by how much it misses the budget; not above 0 if it fits.
  int64_t try_policy(const PolicyChoice& choice) {
    TrainSpec spec = spec_;
    spec.checkpointing = make_policy(choice, spec.model.config.num_layers, selected_);
    ChosenPolicy tried{choice, rehearse(spec, accumulation_, profile_)};
    const int64_t missing = tried.rehearsal.arena_bytes() - budget_bytes_;
    resident_bytes_ = tried.rehearsal.resident_bytes;
    if (!leanest_ || tried.rehearsal.arena_bytes() < leanest_->rehearsal.arena_bytes())
      leanest_ = tried;
    if (missing <= 0 && (!best_ || tried.rehearsal.step_seconds < best_->rehearsal.step_seconds))
      best_ = std::move(tried);
    return missing;
  }

  void search() {
    const std::vector<PolicyOption> options = rehearse_options(spec_, selected_, profile_);
    std::vector<ChainOption> costs;
    for (const PolicyOption& option : options) costs.push_back(option.cost);
    int64_t budget = budget_bytes_ - resident_bytes_;
    for (int i = 0; i < kProposals; ++i) {
      const auto pieces = search_chain(costs, spec_.model.config.num_layers, budget, kSlots);
      if (!pieces) return;
      const int64_t missing = try_policy(choice_of(*pieces, options));
      if (missing <= 0) return;
      budget -= missing;
    }
  }

  const TrainSpec& spec_;
  MemberSet selected_;
  int64_t accumulation_;
  const TargetProfile& profile_;
  int64_t budget_bytes_;
  int64_t resident_bytes_ = 0;
  std::optional<ChosenPolicy> best_, leanest_;
};

}  // namespace

MemberSet choose_selective(const TrainSpec& spec, const TargetProfile& profile) {
  const auto cost_of = [&](PolicyKind kind, MemberSet members) {
    return rehearse_piece(spec, 1, {.kind = kind}, members, profile);
  };
  const PieceCost whole = cost_of(PolicyKind::none, {});
  struct Price {
    int64_t bytes;   // saved per block
    double seconds;  // to compute it again, per block
    double per_byte() const { return seconds / static_cast<double>(bytes); }
  };
  const auto price_of = [&](const PieceCost& without) {
    return Price{whole.kept_bytes - without.kept_bytes, without.seconds - whole.seconds};
  };
  const Price block = price_of(cost_of(PolicyKind::block, {}));
  MemberSet recomputed;
  for (Member member : {Member::attention_normed, Member::projections, Member::mlp_normed,
                        Member::gate_and_up, Member::gated}) {
    const Price price = price_of(cost_of(PolicyKind::selective, {member}));
    if (price.bytes <= 0) continue;  // nothing trained reads it: it is not kept anyway
    if (2 * price.per_byte() < block.per_byte()) recomputed.insert(member);
  }
  return recomputed;
}

std::vector<PolicyOption> rehearse_options(const TrainSpec& spec, MemberSet selected,
                                           const TargetProfile& profile) {
  std::vector<PolicyOption> options;
  for (const PolicyTerm& term : terms_for(spec.model.config.num_layers)) {
    const PieceCost cost = rehearse_piece(spec, term.count, term, selected, profile);
    options.push_back({term, {term.count, cost.kept_bytes, cost.peak_bytes, cost.seconds}});
  }
  return options;
}

ChosenPolicy choose_policy(const TrainSpec& spec, MemberSet selected, int64_t accumulation,
                           const TargetProfile& profile, int64_t budget_bytes) {
  return Chooser(spec, selected, accumulation, profile, budget_bytes).choose();
}

}  // namespace cairn
