// What happens to whole rows of a matrix of scores between the products of materialised attention.
#pragma once

#include "backend/cpu/attention/query_tile.h"
#include "backend/cpu/floats.h"

namespace cairn::cpu {

// Rows of f32 in scratch, one a query of `tile`, over all keys of its segment.
struct ScoreRows {
  QueryTile tile;
  int64_t keys = 0;
  int64_t stride = 0;  // floats from row to row
  float softcap = 0;   // 0: none
};

// Stored probabilities of the same rows.
template <typename Floats>
struct ProbabilityRows {
  Floats floats;
  int64_t first = 0;   // element where the first row begins
  int64_t stride = 0;  // elements from row to row
};

// scores, scaled and times log2(e), become probabilities, 0 where hidden; they are overwritten.
void soften_rows(const ScoreRows& rows, float* scores, const ProbabilityRows<FloatsOut>& to);

// d_probabilities become scale * d_scores in place. `scores` as above are read only if capped.
void differentiate_rows(const ScoreRows& rows, const ProbabilityRows<FloatsIn>& probabilities,
                        float scale, const float* scores, float* d_probabilities);

}  // namespace cairn::cpu
