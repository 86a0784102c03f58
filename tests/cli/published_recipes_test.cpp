// Recipes and data that LLaMA-Factory publishes, run as they are but for the paths, the length and
// a small model in the place of a large one. They are not part of this project: where they are
// absent the test says so.
#include <gtest/gtest.h>

#include "cli/small_program.h"

namespace cairn::test {
namespace {

const fs::path kPublished = fs::path(CAIRN_SOURCE_DIR) / "../shared/data/llamafactory";

TEST_F(Program, published_recipes_train_a_small_model) {
  if (!fs::exists(kPublished)) GTEST_SKIP() << "LLaMA-Factory's recipes are absent: " << kPublished;
  const std::string small =
      " model_name_or_path=model output_dir=out overwrite_output_dir=true cutoff_len=96 "
      "max_steps=2 "
      "max_samples=12 gradient_accumulation_steps=1 dataset_dir='" +
      kPublished.string() + "'";
  const std::vector<std::pair<const char*, const char*>> recipes = {
      {"train_lora_qwen3_lora_sft.yaml", ""},
      {"extras_loraplus_llama3_lora_sft.yaml", ""},
      {"train_qlora_qwen3_lora_sft_otfq.yaml", ""},
      // Its own data set is not among the published files.
      {"train_lora_qwen3_lora_pretrain.yaml", " dataset=wiki_demo"}};
  for (const auto& [name, more] : recipes) {
    const Outcome outcome =
        cairn("train '" + (kPublished / "recipes" / name).string() + "'" + small + more);
    EXPECT_EQ(outcome.exit_code, 0) << name << "\n" << outcome.output;
    const nlohmann::json ledger = read("out/ledger.json");
    EXPECT_EQ(ledger["predicted"], ledger["measured"]) << name;
  }
}

TEST_F(Program, published_data_of_every_shape_trains_and_measures_what_was_predicted) {
  if (!fs::exists(kPublished)) GTEST_SKIP() << "LLaMA-Factory's data is absent: " << kPublished;
  const std::string small =
      " max_steps=2 max_samples=20 cutoff_len=200 dataset_dir='" + kPublished.string() + "'";
  for (const char* keys :
       {" dataset=glaive_toolcall_en_demo template=llama3",
        " dataset=glaive_toolcall_en_demo,identity template=mistral mask_history=true",
        " dataset=alpaca_zh_demo,alpaca_en_demo template=qwen3 packing=true",
        " dataset=identity template=gemma2 mix_strategy=interleave_under"}) {
    const Outcome outcome = cairn("train recipe.yaml" + small + keys);
    EXPECT_EQ(outcome.exit_code, 0) << keys << "\n" << outcome.output;
    const nlohmann::json ledger = read("out/ledger.json");
    EXPECT_EQ(ledger["predicted"], ledger["measured"]) << keys;
  }
}

}  // namespace
}  // namespace cairn::test
