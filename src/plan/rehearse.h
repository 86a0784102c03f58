// Rehearse: run the very phases that a training run executes on the rehearsal backend. What comes
// back is what the run will allocate, where, and an estimate of its time.
#pragma once

#include "backend/registry.h"
#include "memory/layout.h"
#include "memory/ledger.h"
#include "model/generator.h"
#include "train/trainer.h"

namespace cairn {

// What the frozen weights in 4 bits take: codes and the scales of their blocks.
struct QuantisedWeights {
  int64_t elements = 0, bytes = 0;

  double bytes_per_weight() const {
    return elements == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(elements);
  }
};

struct Rehearsal {
  Snapshot snapshot;
  Layout layout;
  Work step_work;  // of one optimizer step
  double step_seconds = 0;
  StateSummary states;  // of the optimizer
  QuantisedWeights quantised;
  Traffic traffic;             // sent to other ranks, by a step of two micro-batches at most
  uint64_t schedule_hash = 0;  // of transfers: ranks that run together have the same
  int64_t resident_bytes = 0;  // charged from load to the end: weights, gradients, states, tables

  int64_t arena_bytes() const { return layout.arena_bytes; }
  // What alignment and placement cost beside the charged bytes.
  int64_t fragmentation_bytes() const { return layout.arena_bytes - snapshot.peak_bytes(); }
};

// One step of `accumulation` micro-batches at capacity, and evaluate and save as the spec says; of
// the rank that spec.world names.
Rehearsal rehearse(const TrainSpec& spec, int64_t accumulation, const TargetProfile& profile);

// Load and one pass: every pass of a generation is alike.
Rehearsal rehearse_generation(const GeneratorSpec& spec, const TargetProfile& profile);

// The batch that fills a capacity; its contents are never looked at.
Batch make_capacity_batch(const Capacity& capacity);

}  // namespace cairn
