// The keys of saving and resuming, as LLaMA-Factory's users write them.
#include <gtest/gtest.h>

#include "base/error.h"
#include "train/recipe.h"

namespace cairn::test {
namespace {

using Kind = ResumeChoice::Kind;

Recipe parsed(const std::string& keys) {
  return parse_recipe("model_name_or_path: model\n" + keys);
}

TEST(RecipeResume, is_a_switch_a_folder_or_left_to_the_rule) {
  const std::pair<const char*, ResumeChoice> cases[] = {
      {"", {Kind::automatic, ""}},
      {"resume_from_checkpoint: null\n", {Kind::automatic, ""}},
      {"resume_from_checkpoint: true\n", {Kind::last, ""}},
      {"resume_from_checkpoint: false\n", {Kind::anew, ""}},
      {"resume_from_checkpoint: saves/run/checkpoint-500\n",
       {Kind::path, "saves/run/checkpoint-500"}}};
  for (const auto& [keys, choice] : cases) {
    const Recipe recipe = parsed(keys);
    EXPECT_EQ(recipe.output.resume, choice) << keys;
    EXPECT_EQ(parse_recipe(to_yaml(recipe)).output.resume, choice) << to_yaml(recipe);
    EXPECT_EQ(parse_recipe(to_json(recipe), RecipeFormat::json).output.resume, choice);
    EXPECT_TRUE(recipe.notes.empty());
  }
  EXPECT_THROW(parsed("resume_from_checkpoint: [a, b]\n"), UserError);
}

TEST(RecipeResume, a_limit_of_0_or_below_is_none) {
  EXPECT_EQ(parsed("").output.save_total_limit, std::nullopt);
  EXPECT_EQ(parsed("save_total_limit: 3\n").output.save_total_limit, 3);
  EXPECT_EQ(parsed("save_total_limit: 0\n").output.save_total_limit, std::nullopt);
  EXPECT_EQ(parsed("save_total_limit: -1\n").output.save_total_limit, std::nullopt);
  EXPECT_THROW(parsed("save_total_limit: 1.5\n"), UserError);
  const Recipe unused = parsed("save_total_limit: 3\nsave_strategy: no\n");
  ASSERT_EQ(unused.notes.size(), 1u);
  EXPECT_EQ(unused.notes[0].key, "save_total_limit");
}

}  // namespace
}  // namespace cairn::test
