// cairn config: a recipe as it is understood, or the table of all keys.
#include <fmt/format.h>

#include "base/error.h"
#include "commands.h"
#include "recipe_arguments.h"
#include "report/key_tables.h"
#include "train/deepspeed/deepspeed_recipe.h"

namespace cairn::program {
namespace {

struct Options {
  RecipeArguments recipe;
  std::string keys;
  bool json = false;
};

int run_config(const Options& options) {
  if (!options.keys.empty()) {
    if (options.keys != "markdown")
      throw UserError(fmt::format("--keys {} is not known; use --keys markdown", options.keys));
    if (options.json || !options.recipe.words.empty())
      throw UserError("--keys prints the table of all keys; leave the recipe and --json out");
    fmt::print("{}", key_tables_markdown());
    return kDone;
  }
  const Recipe recipe = options.recipe.read();
  check_deepspeed_agrees(recipe, {});
  fmt::print("{}\n", options.json ? to_json(recipe) : to_yaml(recipe));
  return kDone;
}

}  // namespace

Command add_config(CLI::App& app) {
  auto options = std::make_shared<Options>();
  options->recipe.add_to(app);
  app.add_option("--keys", options->keys, "markdown: every key there is and what it does here");
  app.add_flag("--json", options->json, "one JSON object on stdout");
  return [options] { return run_config(*options); };
}

}  // namespace cairn::program
