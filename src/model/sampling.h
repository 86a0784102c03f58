// Sampling: the next token from a row of logits, greedy or drawn.
#pragma once

#include <cstdint>
#include <span>

#include "base/random.h"

namespace cairn {

struct SamplingSpec {
  bool greedy = true;
  double temperature = 1;
  double top_p = 1;   // the smallest set of tokens with at least this probability; 1: all
  int64_t top_k = 0;  // the k likeliest; 0: all
  // Ids from here on are never taken: rows that pad the embedding are no token; 0: none.
  int64_t vocabulary = 0;
};

// `draw` indexes the random stream. Logits are changed. Ties go to the lower id.
int32_t sample_token(std::span<float> logits, const SamplingSpec& spec, const Random& random,
                     uint64_t draw);

}  // namespace cairn
