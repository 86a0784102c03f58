// The part of the command line that names a recipe: RECIPE.yaml and key=value after it.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "train/recipe.h"

namespace cairn::program {

struct RecipeArguments {
  std::vector<std::string> words;     // as given
  std::optional<std::string> budget;  // --budget, wins over memory_budget

  void add_to(CLI::App& app);
  // The words that are overrides; the others must be one file, or none.
  Recipe read(const std::vector<std::string>& more_overrides = {}) const;
  bool names_file() const;
};

// What the process may hold in all: the recipe's budget, else what the machine has.
int64_t budget_of(const Recipe& recipe);
// "key=value" of a flag's value, which is no YAML.
std::string as_override(std::string_view key, std::string_view value);

// Prints remarks to stderr, one a line.
void print_remarks(const std::vector<std::string>& remarks);

}  // namespace cairn::program
