// The samples of a measurement: a data set tokenised by the model's own tokenizer, and the same
// data with longer samples.
#pragma once

#include <vector>

#include "bench.h"
#include "data/example.h"

namespace cairn::program {

// Throws UserError without a data set, or without a model that has a tokenizer.
std::vector<Example> read_examples(const BenchOptions& options);

int64_t count_tokens(const std::vector<Example>& examples);

// Every sample longer by the same factor, at most `most` tokens: tokens repeat where they stand, so
// that prompt and answer keep their shares.
std::vector<Example> stretched_to_mean(const std::vector<Example>& examples, double mean,
                                       int64_t most);

}  // namespace cairn::program
