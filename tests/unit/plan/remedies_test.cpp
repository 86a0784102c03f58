// Remedies: what is offered fits when it is rehearsed, says all that it changes and nothing more,
// and asks for the dearer only where the cheaper is not enough.
#include "plan/remedies.h"

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "base/error.h"
#include "unit/plan/small_config.h"

namespace cairn::test {
namespace {

constexpr int64_t kRuntime = 0;

Recipe read(const std::vector<std::string>& keys) {
  std::vector<std::string> all = {"model_name_or_path=m", "bf16=true"};
  all.insert(all.end(), keys.begin(), keys.end());
  return parse_recipe("", RecipeFormat::yaml, all);
}

Plan plan_within(const Recipe& recipe, int64_t budget) {
  return plan_recipe(recipe, make_small_config(), {.threads = 1}, budget, kRuntime);
}

std::optional<Remedy> remedy_within(const Recipe& recipe, int64_t budget) {
  return find_remedy(plan_within(recipe, budget),
                     [&](const Recipe& changed) { return plan_within(changed, budget); });
}

int64_t need_of(const Recipe& recipe) { return plan_within(recipe, INT64_MAX).needed_bytes(); }

const std::vector<std::string> kLora = {"finetuning_type=lora", "cutoff_len=512",
                                        "per_device_train_batch_size=2"};
const std::vector<std::string> kFull = {"finetuning_type=full", "cutoff_len=512",
                                        "per_device_train_batch_size=1"};

// Over budgets from almost enough to none at all: the keys, read again as a user would give them,
// make the plan that was offered.
void expect_keys_make_the_plan(const std::vector<std::string>& keys) {
  const Recipe recipe = read(keys);
  const int64_t need = need_of(recipe);
  int offered = 0;
  for (int64_t part = 19; part > 0; --part) {
    const int64_t budget = need / 20 * part;
    const std::optional<Remedy> remedy = remedy_within(recipe, budget);
    if (!remedy) break;
    ++offered;
    EXPECT_TRUE(remedy->plan.fits());
    std::vector<std::string> changed = keys;
    for (size_t begin = 0; begin < remedy->keys.size();) {
      const size_t end = std::min(remedy->keys.find(' ', begin), remedy->keys.size());
      changed.push_back(remedy->keys.substr(begin, end - begin));
      begin = end + 1;
    }
    EXPECT_EQ(plan_within(read(changed), budget).needed_bytes(), remedy->plan.needed_bytes())
        << remedy->keys;
  }
  EXPECT_GE(offered, 6);
}

TEST(Remedies, keys_of_a_low_rank_remedy_make_its_plan) { expect_keys_make_the_plan(kLora); }
TEST(Remedies, keys_of_a_full_remedy_make_its_plan) { expect_keys_make_the_plan(kFull); }

// Keys that say the opposite, under any of their names, are answered too.
TEST(Remedies, keys_overcome_what_the_recipe_says) {
  for (const std::vector<std::string>& said : std::vector<std::vector<std::string>>{
           {"disable_gradient_checkpointing=true"},
           {"use_unsloth_gc=true"},
           {"attn_implementation=eager", "disable_gradient_checkpointing=true"},
           {"optimizer_place=resident", "gradient_checkpointing=none"}}) {
    std::vector<std::string> keys = kFull;
    keys.insert(keys.end(), said.begin(), said.end());
    expect_keys_make_the_plan(keys);
  }
}

TEST(Remedies, smaller_batches_are_smaller_in_evaluation_too) {
  std::vector<std::string> keys = kLora;
  keys.insert(keys.end(), {"gradient_checkpointing=auto", "dataset=d", "val_size=0.1"});
  const Recipe recipe = read(keys);
  const auto remedy = find_remedy(plan_within(recipe, need_of(recipe) - 1), [&](const Recipe& r) {
    return plan_within(r, r.train.per_device_eval_batch_size == 1 ? INT64_MAX : 1000);
  });
  ASSERT_TRUE(remedy);
  EXPECT_EQ(remedy->keys,
            "per_device_train_batch_size=1 gradient_accumulation_steps=2 "
            "per_device_eval_batch_size=1");
}

// Such as smaller batches beside a DeepSpeed JSON that names its own.
TEST(Remedies, a_change_that_is_refused_leaves_the_next_ones_their_chance) {
  std::vector<std::string> keys = kFull;
  keys.insert(keys.end(), {"gradient_checkpointing=block", "per_device_train_batch_size=2"});
  const Recipe recipe = read(keys);
  const int64_t budget = need_of(recipe) * 3 / 4;
  const auto remedy = find_remedy(plan_within(recipe, budget), [&](const Recipe& changed) {
    if (changed.train.per_device_train_batch_size != 2) throw UserError("refused");
    return plan_within(changed, budget);
  });
  ASSERT_TRUE(remedy);
  EXPECT_EQ(remedy->keys, "optim=paged_adamw_8bit");
}

TEST(Remedies, a_little_missing_asks_for_checkpointing_alone) {
  std::vector<std::string> keys = kLora;
  keys.push_back("gradient_checkpointing=none");
  const Recipe recipe = read(keys);
  const auto remedy = remedy_within(recipe, need_of(recipe) * 9 / 10);
  ASSERT_TRUE(remedy);
  EXPECT_EQ(remedy->keys, "gradient_checkpointing=auto");
}

TEST(Remedies, states_are_coded_before_a_full_fine_tune_is_given_up) {
  std::vector<std::string> keys = kFull;
  keys.push_back("gradient_checkpointing=block");
  const Recipe recipe = read(keys);
  const auto remedy = remedy_within(recipe, need_of(recipe) * 3 / 4);
  ASSERT_TRUE(remedy);
  EXPECT_EQ(remedy->keys, "optim=paged_adamw_8bit");
}

// Where the block is computed again anyway, tiles cost next to nothing; a cut sample is lost.
TEST(Remedies, an_mlp_is_tiled_before_states_are_coded_or_samples_cut) {
  ModelConfig config = make_small_config();
  config.intermediate = 4096;
  const std::vector<std::string> keys = {"finetuning_type=lora", "cutoff_len=4096",
                                         "per_device_train_batch_size=1",
                                         "gradient_checkpointing=auto"};
  std::vector<std::string> tiled = keys;
  tiled.push_back("mlp_tile=1024");
  const auto plan_with = [&](const Recipe& recipe, int64_t budget) {
    return plan_recipe(recipe, config, {.threads = 1}, budget, kRuntime);
  };
  const auto leanest = [&](const Recipe& recipe) { return plan_with(recipe, 1).needed_bytes(); };
  const int64_t budget = leanest(read(tiled));
  ASSERT_LT(budget, leanest(read(keys)));
  const auto remedy = find_remedy(plan_with(read(keys), budget), [&](const Recipe& changed) {
    return plan_with(changed, budget);
  });
  ASSERT_TRUE(remedy);
  EXPECT_EQ(remedy->keys, "mlp_tile=1024");
  tiled.insert(tiled.end(), {"mlp_tile=256", "cutoff_len=256"});
  const auto none = find_remedy(plan_with(read(tiled), 1000), [&](const Recipe& changed) {
    EXPECT_EQ(changed.memory.mlp_tile, 256);
    return plan_with(changed, 1000);
  });
  EXPECT_FALSE(none);
}

TEST(Remedies, frozen_weights_are_quantised_or_streamed_where_nothing_else_is_left) {
  const std::vector<std::string> keys = {"finetuning_type=lora", "cutoff_len=64",
                                         "per_device_train_batch_size=1"};
  const Recipe recipe = read(keys);
  const Recipe quantised = read({"finetuning_type=lora", "cutoff_len=64", "quantization_bit=4",
                                 "per_device_train_batch_size=1"});
  ASSERT_LT(need_of(quantised), need_of(recipe));
  const auto remedy = remedy_within(recipe, need_of(quantised));
  ASSERT_TRUE(remedy);
  EXPECT_EQ(remedy->keys, "quantization_bit=4");
}

// A stage before states are coded; never what runs on one rank alone.
TEST(Remedies, of_several_ranks_raise_the_stage) {
  std::vector<std::string> keys = kFull;
  keys.insert(keys.end(), {"gradient_checkpointing=block", "zero_persistence_threshold=0"});
  const Recipe recipe = read(keys);
  const auto plan_on_four = [&](const Recipe& changed, int64_t budget) {
    return plan_recipe(changed, make_small_config(), {.threads = 1}, budget, kRuntime, {0, 4});
  };
  const int64_t need = plan_on_four(recipe, INT64_MAX).needed_bytes();
  for (int64_t part = 9; part > 0; --part) {
    const int64_t budget = need / 10 * part;
    const auto remedy = find_remedy(plan_on_four(recipe, budget), [&](const Recipe& changed) {
      return plan_on_four(changed, budget);
    });
    if (part >= 5) {
      ASSERT_TRUE(remedy) << part;
      EXPECT_NE(remedy->keys.find("zero_stage="), std::string::npos) << remedy->keys;
    }
    if (!remedy) continue;
    EXPECT_EQ(remedy->keys.find("optimizer_in_backward"), std::string::npos) << remedy->keys;
  }
}

TEST(Remedies, none_where_nothing_helps) { EXPECT_FALSE(remedy_within(read(kLora), 1000)); }

TEST(LossChunk, shrinks_only_where_the_plan_would_not_fit_by_little) {
  std::vector<std::string> keys = kLora;
  keys.push_back("gradient_checkpointing=block");
  const Recipe recipe = read(keys);
  ModelConfig config = make_small_config();
  config.vocab = 65536;
  const auto plan_with = [&](int64_t budget) {
    return plan_recipe(recipe, config, {.threads = 1}, budget, kRuntime);
  };
  const Plan ample = plan_with(INT64_MAX);
  EXPECT_EQ(ample.recipe.memory.loss_chunk, 0);
  const Plan tight = plan_with(ample.needed_bytes() - 20 * kMiB);
  EXPECT_TRUE(tight.fits());
  EXPECT_GT(tight.recipe.memory.loss_chunk, 0);
  EXPECT_EQ(tight.recipe.memory.loss_chunk, tight.spec.model.loss_chunk);
  const Plan hopeless = plan_with(kMiB);
  EXPECT_FALSE(hopeless.fits());
  EXPECT_EQ(hopeless.recipe.memory.loss_chunk, 0);
}

// Each chunk rounds a gradient that is kept in bf16 once more.
TEST(LossChunk, shrinks_no_further_than_rounding_of_the_gradient_allows) {
  ModelConfig config = make_small_config();
  config.vocab = 65536;
  for (const bool rounds : {false, true}) {
    const Recipe recipe =
        read({"finetuning_type=full", "cutoff_len=8192", "per_device_train_batch_size=1",
              rounds ? "trained_precision=mixed" : "trained_precision=f32"});
    const auto plan_with = [&](int64_t budget) {
      return plan_recipe(recipe, config, {.threads = 1}, budget, kRuntime);
    };
    const Plan tight = plan_with(plan_with(INT64_MAX).needed_bytes() - kMiB);
    EXPECT_EQ(tight.recipe.memory.loss_chunk, rounds ? 0 : 128);
  }
}

}  // namespace
}  // namespace cairn::test
