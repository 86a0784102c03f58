// A recipe and its DeepSpeed JSON must say the same, and one error lists all that differs.
#include <gtest/gtest.h>

#include "base/error.h"
#include "train/deepspeed/deepspeed_recipe.h"

namespace cairn {
namespace {

// The difference of this JSON from the recipe; empty if they agree.
std::string difference_of(const std::string& json, const std::string& lines,
                          const RunFacts& facts = {2, 100, 10}) {
  const Recipe recipe = parse_recipe("model_name_or_path: m\nbf16: true\n" + lines,
                                     RecipeFormat::yaml, {"deepspeed='" + json + "'"});
  try {
    check_deepspeed_agrees(recipe, facts);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

void expect_words(const std::string& text, const std::vector<std::string>& words) {
  for (const std::string& word : words)
    EXPECT_NE(text.find(word), std::string::npos) << "wanted '" << word << "' in: " << text;
}

const std::string kBatch =
    "per_device_train_batch_size: 4\ngradient_accumulation_steps: 8\nmax_grad_norm: 0.5\n";

TEST(DeepspeedAgreement, auto_and_equal_values_agree) {
  EXPECT_EQ(difference_of(R"({"train_batch_size": "auto", "train_micro_batch_size_per_gpu": "auto",
                              "gradient_accumulation_steps": "auto", "gradient_clipping": "auto",
                              "fp16": {"enabled": "auto"}, "bf16": {"enabled": "auto"}})",
                          kBatch),
            "");
  EXPECT_EQ(difference_of(R"({"train_batch_size": 64, "train_micro_batch_size_per_gpu": 4,
                              "gradient_accumulation_steps": 8, "gradient_clipping": 0.5,
                              "fp16": {"enabled": false}, "bf16": {"enabled": true}})",
                          kBatch),
            "");
  EXPECT_EQ(difference_of("{}", kBatch), "");
}

TEST(DeepspeedAgreement, one_error_lists_every_difference) {
  expect_words(difference_of(R"({"train_batch_size": 100, "train_micro_batch_size_per_gpu": 2,
                        "gradient_accumulation_steps": 3, "gradient_clipping": 1.0,
                        "fp16": {"enabled": true}, "bf16": {"enabled": false},
                        "optimizer": {"type": "AdamW", "params": {"lr": 1e-3, "betas": [0.9, 0.95]}}})",
                             kBatch),
               {"train_batch_size is 100",
                "2 ranks x per_device_train_batch_size 4 x "
                "gradient_accumulation_steps 8 is 64 here",
                "train_micro_batch_size_per_gpu is 2", "gradient_accumulation_steps is 3",
                "gradient_clipping is 1", "max_grad_norm is 0.5", "fp16.enabled is true",
                "bf16.enabled is false", "optimizer.params.lr is 0.001", "betas are 0.9 and 0.95",
                "\"auto\""});
}

TEST(DeepspeedAgreement, the_whole_batch_is_compared_when_the_ranks_are_known) {
  const std::string json = R"({"train_batch_size": 64})";
  EXPECT_EQ(difference_of(json, kBatch, {}), "");
  EXPECT_EQ(difference_of(json, kBatch, {2, {}, {}}), "");
  expect_words(difference_of(json, kBatch, {1, {}, {}}), {"64", "32"});
}

TEST(DeepspeedAgreement, the_optimizer_and_schedule_of_the_file_are_those_of_the_recipe) {
  const std::string json = R"({"optimizer": {"type": "AdamW", "params":
      {"lr": "auto", "betas": "auto", "eps": "auto", "weight_decay": "auto"}},
      "scheduler": {"type": "WarmupDecayLR", "params": {"warmup_min_lr": 0, "warmup_max_lr": "auto",
      "warmup_num_steps": 10, "total_num_steps": 100, "warmup_type": "linear"}}})";
  EXPECT_EQ(difference_of(json, ""), "");
  expect_words(difference_of(json, "optim: sgd\nlr_scheduler_type: cosine"),
               {"optimizer.type", "optim is sgd", "lr_scheduler_type: linear", "cosine"});
  expect_words(difference_of(json, "", {2, 200, 20}),
               {"warmup_num_steps is 10", "20 here", "total_num_steps is 100", "200 here"});
}

// What a file leaves out is DeepSpeed's own, and not the recipe's.
TEST(DeepspeedAgreement, a_section_without_a_value_means_deepspeeds_own) {
  const std::string rise = R"({"scheduler": {"type": "WarmupDecayLR", "params": {
      "warmup_max_lr": "auto", "warmup_num_steps": "auto", "total_num_steps": "auto"}}})";
  expect_words(difference_of(rise, ""), {"warmup_type is not there", "log", "\"linear\""});
  EXPECT_EQ(difference_of(rise, "", {2, 100, 0}), "");

  const std::string bare =
      R"({"scheduler": {"type": "WarmupLR", "params": {"warmup_type": "linear"}},
          "optimizer": {"type": "AdamW", "params": {}}})";
  const std::string same = "lr_scheduler_type: constant_with_warmup\nlearning_rate: 0.001\n";
  EXPECT_EQ(difference_of(bare, same, {2, 2000, 1000}), "");
  expect_words(difference_of(bare, same, {2, 2000, 10}), {"warmup_num_steps is not there", "1000"});
  expect_words(difference_of(bare,
                             "lr_scheduler_type: constant_with_warmup\nlearning_rate: 0.01\n"
                             "weight_decay: 0.1\nadam_beta2: 0.95\nadam_epsilon: 1.0e-6",
                             {2, 2000, 1000}),
               {"warmup_max_lr is not there, which is 0.001", "optimizer.params.lr is not there",
                "weight_decay is not there, which is 0 ", "betas are 0.9 and 0.999",
                "eps is not there, which is 1e-08"});
}

}  // namespace
}  // namespace cairn
