// How many rows of logits there are at a time where nobody says so.
#include <gtest/gtest.h>

#include "base/bytes.h"
#include "model/layers/loss_head.h"

namespace cairn::test {
namespace {

Parameter vocabulary_of(int64_t words, bool trainable, DType storage) {
  Parameter parameter;
  parameter.shape = {words, 8};
  parameter.trainable = trainable;
  parameter.storage = storage;
  return parameter;
}

TEST(LossChunk, holds_64_mib_of_logits_in_whole_tiles) {
  const Parameter frozen = vocabulary_of(128256, false, DType::bf16);
  EXPECT_EQ(default_loss_chunk(frozen, 32768, true), 128);
  EXPECT_EQ(least_loss_chunk(frozen, 32768, true), kLossTile);
  const Parameter wide = vocabulary_of(128256, true, DType::f32);
  EXPECT_EQ(default_loss_chunk(wide, 32768, true), 128);
  EXPECT_EQ(default_loss_chunk(vocabulary_of(1 << 24, true, DType::f32), 9, true), kLossTile);
}

TEST(LossChunk, rounds_a_gradient_in_bf16_a_bounded_number_of_times) {
  const Parameter narrow = vocabulary_of(128256, true, DType::bf16);
  for (int64_t rows : {1, 64, 2048, 2049, 8191, 32768, 1000001})
    for (const bool is_default : {true, false}) {
      const int64_t chunk = is_default ? default_loss_chunk(narrow, rows, true)
                                       : least_loss_chunk(narrow, rows, true);
      EXPECT_LE(ceil_div(rows, chunk), kMostRoundedChunks) << rows;
      EXPECT_EQ(chunk % kLossTile, 0);
    }
  EXPECT_EQ(default_loss_chunk(narrow, 32768, false), 128) << "without a gradient nothing rounds";
}

}  // namespace
}  // namespace cairn::test
