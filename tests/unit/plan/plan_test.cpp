// What plan_recipe answers of a recipe, and what it says of it.
#include "plan/plan.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "unit/plan/small_config.h"

namespace cairn::test {
namespace {

Plan plan_of(const ModelConfig& config, int64_t budget, const std::vector<std::string>& keys) {
  std::vector<std::string> all = {"model_name_or_path=m", "bf16=true",
                                  "per_device_train_batch_size=1", "finetuning_type=lora"};
  all.insert(all.end(), keys.begin(), keys.end());
  return plan_recipe(parse_recipe("cutoff_len: 128\n", RecipeFormat::yaml, all), config,
                     {.threads = 1}, budget, 0);
}

Plan plan_within(int64_t budget, const std::vector<std::string>& keys) {
  return plan_of(make_small_config(), budget, keys);
}

Plan plan_with(const std::vector<std::string>& keys) { return plan_within(INT64_MAX, keys); }

// The policies that are priced on models of fewer blocks, which have no such module.
TEST(PlanRecipe, takes_a_module_of_the_last_block_beside_the_pairs_under_every_policy) {
  const std::vector<std::string> keys = {"lora_target=q_proj,v_proj",
                                         "additional_target=model.layers.5.mlp.down_proj"};
  const auto with = [&](const std::string& policy) {
    std::vector<std::string> all = keys;
    all.push_back("gradient_checkpointing=" + policy);
    return all;
  };
  const int64_t need = plan_with(with("none")).needed_bytes();
  EXPECT_TRUE(plan_with(with("selective")).fits());
  EXPECT_TRUE(plan_within(need - need / 8, with("auto")).fits());
}

TEST(PlanRecipe, refuses_a_module_that_the_model_has_not) {
  EXPECT_THROW(
      plan_with({"lora_target=q_proj,v_proj", "additional_target=model.layers.6.mlp.down_proj"}),
      UserError);
}

bool says(const Plan& plan, const std::string& words) {
  return std::ranges::any_of(plan.why, [&](const std::string& sentence) {
    return sentence.find(words) != std::string::npos;
  });
}

TEST(PlanRecipe, counts_the_bytes_of_weights_in_4_bits_and_none_that_stream) {
  // A scale of 4 bytes for 64 weights; or one byte, and 4 more for 256 of them.
  const Plan plain = plan_with({"quantization_bit=4", "double_quantization=false"});
  EXPECT_EQ(plain.rehearsal.quantised.bytes_per_weight(), 0.5 + 4.0 / 64);
  const Plan nested = plan_with({"quantization_bit=4"});
  EXPECT_EQ(nested.rehearsal.quantised.bytes_per_weight(), 0.5 + 1.0 / 64 + 4.0 / (64 * 256));
  EXPECT_TRUE(says(nested, "are held in 4 bits"));
  const Plan streamed = plan_with({"quantization_bit=4", "weights_place=paged"});
  EXPECT_EQ(streamed.rehearsal.quantised.elements, 0);
  EXPECT_FALSE(says(streamed, "are held in 4 bits"));
}

// Longer batches never need less: no tool sets in all of a sudden.
TEST(PlanRecipe, needs_more_for_more_tokens_under_every_policy) {
  ModelConfig config = make_small_config();
  config.intermediate = 2048;
  config.num_layers = 2;
  for (const char* policy : {"none", "selective", "block", "every:2", "nested", "offload"}) {
    int64_t before = 0;
    for (int64_t tokens : {4095, 4096, 4097, 6000, 8192, 8193, 8200, 12288, 12289}) {
      const int64_t need = plan_of(config, INT64_MAX,
                                   {fmt::format("cutoff_len={}", tokens),
                                    fmt::format("gradient_checkpointing={}", policy)})
                               .needed_bytes();
      EXPECT_GE(need, before) << policy << " of " << tokens;
      before = need;
    }
  }
}

// Else a plan of many tokens would take long, and so would the thin products of a run. An MLP's are
// as many as its tiles.
TEST(PlanRecipe, asks_for_dropped_inputs_no_oftener_for_more_tokens) {
  const auto requests = [](const std::string& cutoff) {
    const Plan plan = plan_with(
        {cutoff, "lora_dropout=0.1", "lora_target=q_proj,v_proj", "gradient_checkpointing=none"});
    return plan.rehearsal.layout.offsets[static_cast<size_t>(Phase::step)].size();
  };
  EXPECT_EQ(requests("cutoff_len=16384"), requests("cutoff_len=4096"));
}

TEST(PlanRecipe, refuses_joined_products_that_4_bits_cannot_part) {
  ModelConfig config = make_small_config();
  config.fused_projections = true;
  config.hidden = 33;
  config.intermediate = 35;
  try {
    plan_of(config, INT64_MAX, {"quantization_bit=4"});
    ADD_FAILURE() << "was planned";
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("llm_int8_skip_modules: gate_up_proj"),
              std::string::npos)
        << error.what();
  }
  plan_of(config, INT64_MAX, {"quantization_bit=4", "llm_int8_skip_modules=[gate_up_proj]"});
}

TEST(PlanRecipe, refuses_squares_of_probabilities_beyond_64_bits) {
  const std::vector<std::string> keys = {"cutoff_len=67108864", "flash_attn=disabled"};
  EXPECT_THROW(plan_with(keys), UserError);
}

}  // namespace
}  // namespace cairn::test
