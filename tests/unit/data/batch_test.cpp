// Batches: joined without padding, and no sample sees another.
#include "data/batch.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace cairn {
namespace {

using Ints = std::vector<int32_t>;

const Example kFirst = {{10, 11, 12}, {kIgnored, 11, 12}};
const Example kSecond = {{20, 21}, {20, 21}};
const Example kSingle = {{30}, {30}};

Batch joined(std::vector<const Example*> examples) { return make_batch(examples); }

TEST(Batch, joins_examples_end_to_end) {
  const Batch batch = joined({&kFirst, &kSecond});
  EXPECT_EQ(batch.ids, (Ints{10, 11, 12, 20, 21}));
  EXPECT_EQ(batch.positions, (Ints{0, 1, 2, 0, 1}));
  EXPECT_EQ(batch.cu_seqlens, (Ints{0, 3, 5}));
  EXPECT_EQ(batch.longest_segment, 3);
  EXPECT_EQ(batch.segments(), 2);
}

TEST(Batch, targets_are_the_next_label_and_never_cross_a_segment) {
  const Batch batch = joined({&kFirst, &kSecond});
  EXPECT_EQ(batch.targets, (Ints{11, 12, kIgnored, 21, kIgnored}));
  EXPECT_EQ(batch.labelled_rows, (Ints{0, 1, 3}));
  EXPECT_EQ(batch.labelled_targets, (Ints{11, 12, 21}));
}

TEST(Batch, a_single_token_trains_nothing) {
  const Batch batch = joined({&kSingle});
  EXPECT_EQ(batch.targets, Ints{kIgnored});
  EXPECT_EQ(batch.labelled(), 0);
  EXPECT_EQ(kSingle.trained_labels(), 0);
}

TEST(Batch, an_example_without_tokens_is_a_mistake) {
  const Example empty;
  EXPECT_THROW(joined({&empty}), CheckFailed);
  const Example uneven = {{1, 2}, {1}};
  EXPECT_THROW(joined({&uneven}), CheckFailed);
}

TEST(Batch, capacity_without_building_equals_capacity_of_the_batch) {
  const std::vector<const Example*> examples = {&kFirst, &kSingle, &kSecond};
  EXPECT_EQ(capacity_of(examples), capacity_of(make_batch(examples)));
  EXPECT_EQ(capacity_of(examples), (Capacity{6, 3, 3, 3}));
}

TEST(Batch, the_larger_capacity_is_taken_extent_by_extent) {
  EXPECT_EQ(elementwise_max({1, 20, 3, 40}, {10, 2, 30, 4}), (Capacity{10, 20, 30, 40}));
}

}  // namespace
}  // namespace cairn
