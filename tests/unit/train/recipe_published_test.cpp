// Recipes that LLaMA-Factory publishes, where a copy lies beside the source tree (it is not part of
// a clone): each is read, or refused for the one reason it must be.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>

#include "base/error.h"
#include "train/recipe.h"

namespace cairn {
namespace {

std::string outcome_of(const std::filesystem::path& path) {
  try {
    // Their own copies of the DeepSpeed files lie elsewhere; ours have the same names.
    std::string examples = "deepspeed=" CAIRN_SOURCE_DIR "/examples/deepspeed/ds_z3_config.json";
    Recipe recipe = read_recipe(path, {"deepspeed=null"});
    std::ifstream in(path);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    if (text.find("deepspeed:") != std::string::npos) {
      recipe = read_recipe(path, {examples});
      EXPECT_EQ(recipe.sharding.stage, 3) << path;
    }
    for (const Note& note : recipe.notes)
      std::cout << path.filename() << " " << note.key << ": " << note.text << "\n";
    return "read";
  } catch (const UserError& error) {
    std::cout << path.filename() << " " << error.what() << "\n";
    const std::string text = error.what();
    return text.substr(0, text.find(':'));
  }
}

TEST(RecipePublished, each_is_read_or_refused_for_the_right_key) {
  const std::filesystem::path folder =
      std::filesystem::path(CAIRN_SOURCE_DIR) / "../shared/data/llamafactory/recipes";
  if (!std::filesystem::is_directory(folder)) GTEST_SKIP() << folder << " is absent";
  const std::map<std::string, std::string> wanted = {
      {"extras_loraplus_llama3_lora_sft.yaml", "read"},
      {"merge_lora_qwen3_lora_sft.yaml", "read"},
      {"train_full_qwen3_full_sft.yaml", "read"},
      {"train_lora_qwen3_lora_pretrain.yaml", "read"},
      {"train_lora_qwen3_lora_sft.yaml", "read"},
      {"train_lora_qwen3_lora_sft_ds3.yaml", "read"},
      {"train_qlora_qwen3_lora_sft_otfq.yaml", "read"}};
  for (const auto& [name, outcome] : wanted) {
    ASSERT_TRUE(std::filesystem::exists(folder / name)) << name;
    EXPECT_EQ(outcome_of(folder / name), outcome) << name;
  }
}

}  // namespace
}  // namespace cairn
