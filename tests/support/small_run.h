// Small seeded training runs: a random shape, random data, a spec; rehearsed, then run on a
// backend.
#pragma once

#include <memory>
#include <vector>

#include "backend/registry.h"
#include "plan/rehearse.h"
#include "train/trainer.h"

namespace cairn::test {

struct SmallRun {
  TrainSpec spec;
  int64_t accumulation = 1;
  std::vector<std::vector<Batch>> steps;  // [step][micro-batch]
  std::vector<Batch> eval;
};

// So little that the states of most small runs do not fit.
inline constexpr int64_t kSmallPageResident = 160 * kKiB;

// Every choice (family, LoRA or full, precision, checkpointing, attention, shapes, ragged lengths,
// tied head, accumulation, optimizer) is a function of the seed.
SmallRun make_small_run(uint64_t seed);
// The shape alone, tiny but ragged.
ModelConfig make_small_config(uint64_t seed);
// The traits of a well-known model on a shape of three blocks: hidden 320, 4 heads of 64.
ModelConfig make_family_config(std::string_view known_name);
// A run of that shape whose micro-batches are packed rows, drawn by a sampler that also says the
// capacity.
SmallRun make_packed_run(uint64_t seed);
// Examples with random ids and prompts, `longest` tokens each at most.
std::vector<Example> make_examples(uint64_t seed, int64_t vocab, int64_t count, int64_t longest);
// Batches of examples with random ids and prompts; `longest` tokens each at most.
std::vector<Batch> make_batches(uint64_t seed, int64_t vocab, int64_t count, int64_t examples,
                                int64_t longest);
// One batch with the samples of all.
Batch join(const std::vector<Batch>& batches);
void set_capacity(SmallRun& run);
// Every block keeps that.
void set_keep(SmallRun& run, Keep keep);

// What a finished run left behind.
struct RunResult {
  Snapshot snapshot;
  int64_t left_after = 0;  // bytes charged once the run is gone
  std::vector<StepOutcome> outcomes;
  std::vector<double> eval_losses;
  std::vector<std::vector<float>> trained;  // final values of the trained parameters
  std::vector<bool> cut;                    // which of them are this rank's share alone
  Traffic traffic;                          // sent in the last step
  int most_gathered = 0;                    // units that were whole at one time under stage 3
};

// Rehearses and runs; returns the measured side. `rehearsal` receives the other. With `ranks`, one
// rank's part of a run of several.
RunResult run_small(const SmallRun& run, Backend& backend, Rehearsal* rehearsal = nullptr,
                    Communicator* ranks = nullptr);

// The run's micro-batches dealt to ranks, one's samples after the other's, as the sampler does; a
// rank without a sample gets one token without a label.
std::vector<SmallRun> deal(const SmallRun& run, int ranks);
// Such a run, one thread a rank. Of cut weights each rank has returned its own elements.
std::vector<RunResult> run_on_ranks(const std::vector<SmallRun>& dealt,
                                    std::vector<Rehearsal>* rehearsals = nullptr);
// What all ranks have of trained parameter `index` together.
std::vector<float> whole_of(const std::vector<RunResult>& results, size_t index);

}  // namespace cairn::test
