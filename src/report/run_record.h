// RunRecord: what an output folder tells of its run: the losses of trainer_log.jsonl, the peak of
// ledger.json.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/loss_curve.h"

namespace cairn {

struct RunRecord {
  std::string name;                   // the folder's own
  std::vector<LossPoint> training;    // as logged: means since the line before
  std::vector<LossPoint> evaluation;  // may be empty
  std::optional<int64_t> peak_bytes;  // measured; none if the run did not end
  double tokens_per_second = 0;       // median of the lines
};

// Throws UserError if the folder has no log, DamagedFile naming the line that is no JSON object.
RunRecord read_run_record(const std::string& folder);

// The runs as one SVG picture: training losses smoothed and thin, evaluation losses with dots.
std::string run_comparison_svg(const std::string& title, const std::vector<RunRecord>& runs);

}  // namespace cairn
