// Measuring a rung of the ladder: a process of its own for each, so that no rung's memory or
// threads touch another's. Parent and child are this program; the child prints JSON.
#pragma once

#include <optional>
#include <string>

#include "ladder_options.h"

namespace cairn::program {

struct MeasuredRung {
  Snapshot::PerAccount accounts{};       // bytes at the peak
  Snapshot::PerAccount account_peaks{};  // each account's own peak
  int64_t peak_bytes = 0;
  int64_t runtime_bytes = 0;  // before anything of the rung
  int64_t peak_resident = 0;  // of the process
  double step_seconds = 0;    // median
};

// Runs the rung here: random weights, one step that warms up, then the timed ones. Returns an exit
// code.
int measure_rung_here(const LadderOptions& options);
// Has another process of this program do that. Throws std::runtime_error if it fails; what it
// complained of is on stderr.
MeasuredRung measure_rung_apart(const LadderOptions& options, size_t rung);

}  // namespace cairn::program
