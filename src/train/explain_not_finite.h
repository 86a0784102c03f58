// The sentence of a step whose loss or gradient is not finite: which rows it was made of, and
// whether the model's own files brought it.
#pragma once

#include <string>

#include "base/error.h"
#include "train/prepare.h"

namespace cairn {

// "rows.json 5, 9": the rows of the data sets that the step trains on, by their number from 1.
std::string rows_words(const PreparedRun& run, const SampledStep& step);

// `saved`: what of the run is safe.
std::string explain_not_finite(const NotFinite& error, const PreparedRun& run,
                               const SampledStep& step, const std::string& saved);

}  // namespace cairn
