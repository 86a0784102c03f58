#include "plan/ladder.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/error.h"
#include "base/random.h"
#include "train/prepare.h"

namespace cairn {
namespace {

constexpr int32_t kPad = 0;
constexpr uint64_t kIdSeed = 11;

// The lengths of the samples in a row.
std::vector<int64_t> lengths_in_row(const LadderShape& shape, bool packed) {
  std::vector<int64_t> lengths = {shape.mean_sample};
  if (!packed) return lengths;
  int64_t left = shape.sequence - shape.mean_sample;
  for (; left > 0; left -= lengths.back()) lengths.push_back(std::min(left, shape.mean_sample));
  return lengths;
}

void check(const LadderShape& shape) {
  if (shape.sequence < 2)
    throw UserError(fmt::format(
        "rows of {} tokens were asked for; a row must have at least 2, or nothing trains",
        shape.sequence));
  if (shape.mean_sample < 2 || shape.mean_sample > shape.sequence)
    throw UserError(fmt::format(
        "a mean sample of {} tokens was asked for; it must have at least 2 and at most the {} of a "
        "row",
        shape.mean_sample, shape.sequence));
}

// A run's worst batch: every row labelled. Packed, a sample may still be as long as its row.
Capacity worst_batch(const LadderShape& shape, bool packed) {
  Capacity capacity = make_full_capacity(shape.batch, shape.sequence);
  if (packed)
    capacity.segments = shape.batch * static_cast<int64_t>(lengths_in_row(shape, packed).size());
  return capacity;
}

}  // namespace

Batch make_ladder_batch(const LadderShape& shape, bool packed, int64_t vocab) {
  const Random random(kIdSeed);
  std::vector<Example> examples;
  uint64_t draw = 0;
  for (int64_t row = 0; row < shape.batch; ++row)
    for (int64_t length : lengths_in_row(shape, packed)) {
      Example& example = examples.emplace_back();
      for (int64_t t = 0; t < length; ++t)
        example.ids.push_back(
            static_cast<int32_t>(random.below(draw++, static_cast<uint64_t>(vocab))));
      example.labels = example.ids;
      if (packed) continue;
      example.ids.resize(static_cast<size_t>(shape.sequence), kPad);
      example.labels.resize(static_cast<size_t>(shape.sequence), kIgnored);
    }
  std::vector<const Example*> pointers;
  for (const Example& example : examples) pointers.push_back(&example);
  return make_batch(pointers);
}

std::vector<Rung> make_rungs(const TrainSpec& spec, const LadderShape& shape) {
  check(shape);
  const int64_t num_blocks = spec.model.config.num_layers;
  Rung rung;
  rung.name = "baseline";
  rung.spec = spec;
  rung.spec.model.attention = AttentionKind::materialised;
  rung.spec.checkpointing = uniform_policy(Keep::everything, num_blocks);
  rung.spec.capacity = worst_batch(shape, false);
  rung.useful_tokens = shape.batch * shape.mean_sample;
  std::vector<Rung> rungs = {rung};

  rung.name = "+ checkpointing";
  rung.spec.checkpointing = uniform_policy(Keep::input, num_blocks);
  rungs.push_back(rung);

  rung.name = "+ FlashAttention";
  rung.spec.model.attention = AttentionKind::flash;
  rungs.push_back(rung);

  rung.name = "+ packing";
  rung.packed = true;
  rung.spec.capacity = worst_batch(shape, true);
  rung.useful_tokens = shape.positions();
  rungs.push_back(rung);
  return rungs;
}

Ladder rehearse_ladder(const TrainSpec& spec, const LadderShape& shape,
                       const TargetProfile& profile, int64_t budget_bytes, int64_t runtime_bytes) {
  Ladder ladder{shape, budget_bytes, runtime_bytes, make_rungs(spec, shape)};
  for (Rung& rung : ladder.rungs) {
    rung.rehearsal = rehearse(rung.spec, 1, profile);
    TrainSpec typical = rung.spec;
    typical.capacity = capacity_of(make_ladder_batch(shape, rung.packed, spec.model.config.vocab));
    rung.step_seconds = rehearse(typical, 1, profile).step_seconds;
  }
  return ladder;
}

Pile Ladder::pile(const Rung& rung) const {
  const auto at_peak = [&](Account account) {
    return Portion{name_of(account),
                   rung.rehearsal.snapshot.accounts_at_peak()[static_cast<size_t>(account)]};
  };
  return {{{"runtime", runtime_bytes},
           {"placement", rung.rehearsal.fragmentation_bytes()},
           at_peak(Account::weights),
           at_peak(Account::gradients),
           at_peak(Account::optimizer),
           at_peak(Account::workspace),
           at_peak(Account::activations)}};
}

std::optional<Overflow> Ladder::overflow(const Rung& rung) const {
  if (fits(rung)) return std::nullopt;
  Overflow most;
  int64_t below = 0;
  for (const Portion& portion : pile(rung)) {
    const int64_t top = below + portion.bytes;
    const int64_t over = top - std::max(below, std::min(top, budget_bytes));
    if (over > most.over_bytes) most = {portion, over};
    below = top;
  }
  return most;
}

}  // namespace cairn
