// Ladder: recipes side by side, each with one memory tool more than the one before it: baseline,
// + checkpointing, + FlashAttention, + packing. Memory is what the worst batch of a run charges,
// as in every plan; time is that of a batch of samples of the mean length.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/rehearse.h"

namespace cairn {

// Rows of `sequence` tokens, `batch` of them, and how long a sample is in the mean.
struct LadderShape {
  int64_t sequence = 0, batch = 0, mean_sample = 0;

  int64_t positions() const { return batch * sequence; }
};

// Unpacked, a row is one sample of `mean_sample` tokens padded to `sequence`; packed, it is filled
// with such samples, the last one cut. The ids are random; padding trains nothing.
Batch make_ladder_batch(const LadderShape& shape, bool packed, int64_t vocab);

struct Rung {
  std::string name;
  TrainSpec spec;
  bool packed = false;
  int64_t useful_tokens = 0;  // of a step: padding left out
  Rehearsal rehearsal;        // of a batch that fills the capacity
  double step_seconds = 0;    // rehearsed, of make_ladder_batch

  double tokens_per_second(double seconds) const {
    return seconds > 0 ? static_cast<double>(useful_tokens) / seconds : 0;
  }
};

// A part of what a rung needs.
struct Portion {
  std::string_view name;
  int64_t bytes = 0;
};
inline constexpr size_t kNumPortions = kNumAccounts + 2;
// What is needed, piled up: the process, alignment and placement, and the accounts at the peak.
// Activations lie on top: they are what the tools of this ladder lower.
using Pile = std::array<Portion, kNumPortions>;

// The portion that holds the most of what lies above the budget.
struct Overflow {
  Portion portion;
  int64_t over_bytes = 0;  // of the portion, above the budget
};

struct Ladder {
  LadderShape shape;
  int64_t budget_bytes = 0;
  int64_t runtime_bytes = 0;  // the process itself
  std::vector<Rung> rungs;

  Pile pile(const Rung& rung) const;
  int64_t needed_bytes(const Rung& rung) const {
    return rung.rehearsal.arena_bytes() + runtime_bytes;
  }
  bool fits(const Rung& rung) const { return needed_bytes(rung) <= budget_bytes; }
  // None if the rung fits.
  std::optional<Overflow> overflow(const Rung& rung) const;
};

// `spec` is that of the last rung but for what the rungs change: attention, checkpointing,
// capacity. Throws UserError for a mean that is no length of a sample of the shape.
Ladder rehearse_ladder(const TrainSpec& spec, const LadderShape& shape,
                       const TargetProfile& profile, int64_t budget_bytes, int64_t runtime_bytes);

// The rungs without their rehearsals, for whoever runs one.
std::vector<Rung> make_rungs(const TrainSpec& spec, const LadderShape& shape);

}  // namespace cairn
