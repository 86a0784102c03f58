// The next token: only ids of the tokenizer's vocabulary, though the logits may be wider.
#include "model/sampling.h"

#include <gtest/gtest.h>

#include <vector>

namespace cairn::test {
namespace {

constexpr int64_t kVocabulary = 5;

// Three rows of padding, likelier than every token.
std::vector<float> padded_logits() { return {0, 1, 2, 1, 0, 9, 9, 9}; }

TEST(Sampling, greedy_never_takes_a_row_that_pads_the_embedding) {
  std::vector<float> logits = padded_logits();
  EXPECT_EQ(sample_token(logits, {.vocabulary = kVocabulary}, Random(1), 0), 2);
  EXPECT_EQ(sample_token(logits, {}, Random(1), 0), 5);
}

TEST(Sampling, drawing_never_takes_a_row_that_pads_the_embedding) {
  const SamplingSpec spec = {.greedy = false, .temperature = 3, .vocabulary = kVocabulary};
  for (uint64_t draw = 0; draw < 200; ++draw) {
    std::vector<float> logits = padded_logits();
    EXPECT_LT(sample_token(logits, spec, Random(7), draw), kVocabulary) << "draw " << draw;
  }
}

}  // namespace
}  // namespace cairn::test
