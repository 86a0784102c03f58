// Larger batches: offered only where weights come once a micro-batch, as large as fits, and moving
// less in the same step.
#include "plan/larger_batches.h"

#include <gtest/gtest.h>

#include "unit/plan/small_config.h"

namespace cairn::test {
namespace {

// A link and a disk that are slow, and cores that are not.
Plan plan_within(const Recipe& recipe, int64_t budget, int ranks) {
  TargetProfile profile;
  profile.threads = 1;
  profile.link_bytes_per_second = profile.page_bytes_per_second = 1e7;
  return plan_recipe(recipe, make_small_config(), profile, budget, 0, {0, ranks});
}

Recipe read(const std::vector<std::string>& keys) {
  std::vector<std::string> all = {"model_name_or_path=m",
                                  "bf16=true",
                                  "cutoff_len=64",
                                  "finetuning_type=lora",
                                  "per_device_train_batch_size=1",
                                  "gradient_checkpointing=block",
                                  "gradient_accumulation_steps=6",
                                  "zero_persistence_threshold=0"};
  all.insert(all.end(), keys.begin(), keys.end());
  return parse_recipe("", RecipeFormat::yaml, all);
}

std::optional<LargerBatches> larger_within(const Recipe& recipe, int64_t budget, int ranks) {
  return find_larger_batches(plan_within(recipe, budget, ranks), [&](const Recipe& changed) {
    return plan_within(changed, budget, ranks);
  });
}

TEST(LargerBatches, gather_weights_once_where_memory_allows) {
  const Recipe recipe = read({"zero_stage=3"});
  const Plan plan = plan_within(recipe, INT64_MAX, 4);
  const auto larger = larger_within(recipe, INT64_MAX, 4);
  ASSERT_TRUE(larger);
  EXPECT_EQ(larger->keys, "per_device_train_batch_size=6 gradient_accumulation_steps=1");
  // Nearly all of what is sent is frozen weights, six times a step.
  EXPECT_NEAR(moved_bytes(plan) / moved_bytes(larger->plan), 6, 0.5);
  EXPECT_EQ(larger->plan.tokens_per_step, plan.tokens_per_step);
  EXPECT_LE(larger->plan.rehearsal.step_seconds, plan.rehearsal.step_seconds);
}

// Budgets between what one pass and six need: as few passes as fit, each offer within its budget.
TEST(LargerBatches, are_as_large_as_the_budget_allows) {
  const Recipe recipe = read({"zero_stage=3"});
  const int64_t least = plan_within(recipe, INT64_MAX, 4).needed_bytes();
  const int64_t most = larger_within(recipe, INT64_MAX, 4)->plan.needed_bytes();
  ASSERT_GT(most, least);
  EXPECT_FALSE(larger_within(recipe, least, 4));
  const auto between = larger_within(recipe, (least + most) / 2, 4);
  ASSERT_TRUE(between);
  EXPECT_NE(between->keys, "per_device_train_batch_size=6 gradient_accumulation_steps=1");
  EXPECT_LE(between->plan.needed_bytes(), (least + most) / 2);
}

TEST(LargerBatches, read_streamed_weights_once) {
  const auto larger = larger_within(read({"weights_place=paged"}), INT64_MAX, 1);
  ASSERT_TRUE(larger);
  EXPECT_EQ(larger->keys, "per_device_train_batch_size=6 gradient_accumulation_steps=1");
}

TEST(LargerBatches, are_not_offered_where_nothing_comes_once_a_pass) {
  EXPECT_FALSE(larger_within(read({}), INT64_MAX, 1));
  EXPECT_FALSE(larger_within(read({"zero_stage=1"}), INT64_MAX, 4)) << "reduced once a step";
  EXPECT_FALSE(
      larger_within(read({"zero_stage=3", "gradient_accumulation_steps=1"}), INT64_MAX, 4));
}

}  // namespace
}  // namespace cairn::test
