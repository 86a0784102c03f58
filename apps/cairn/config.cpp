// cairn config: a recipe as it is understood.
#include <fmt/format.h>

#include "commands.h"
#include "recipe_arguments.h"

namespace cairn::program {

Command add_config(CLI::App& app) {
  struct Options {
    RecipeArguments recipe;
    bool json = false;
  };
  auto options = std::make_shared<Options>();
  options->recipe.add_to(app);
  app.add_flag("--json", options->json, "one JSON object on stdout");
  return [options] {
    const Recipe recipe = options->recipe.read();
    fmt::print("{}\n", options->json ? to_json(recipe) : to_yaml(recipe));
    return kDone;
  };
}

}  // namespace cairn::program
