#include "recipe_arguments.h"

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/error.h"
#include "memory/machine.h"
#include "streams.h"

namespace cairn::program {
namespace {
bool is_override(const std::string& word) { return word.find('=') != std::string::npos; }
}  // namespace

void RecipeArguments::add_to(CLI::App& app) {
  app.add_option("recipe", words, "RECIPE.yaml or .json, then key=value to override its keys");
  app.add_option("--budget", budget, "memory the process may hold in all, such as 24GiB");
}

bool RecipeArguments::names_file() const { return !words.empty() && !is_override(words.front()); }

Recipe RecipeArguments::read(const std::vector<std::string>& more_overrides) const {
  std::vector<std::string> overrides = more_overrides;
  const size_t first = names_file() ? 1 : 0;
  for (size_t i = first; i < words.size(); ++i) {
    if (!is_override(words[i]))
      throw UserError(fmt::format(
          "'{}' is not of the form key=value; one recipe file is read, and keys follow it",
          words[i]));
    overrides.push_back(words[i]);
  }
  if (budget) overrides.push_back(as_override("memory_budget", *budget));
  return names_file() ? read_recipe(words.front(), overrides)
                      : parse_recipe("", RecipeFormat::yaml, overrides, "the command line");
}

int64_t budget_of(const Recipe& recipe) {
  return recipe.memory.memory_budget.value_or(default_budget_bytes());
}

std::string as_override(std::string_view key, std::string_view value) {
  std::string text = fmt::format("{}='", key);
  for (const char c : value) text.append(c == '\'' ? 2 : 1, c);
  return text + "'";
}

void print_remarks(const std::vector<std::string>& remarks) {
  for (const std::string& remark : remarks) tell("note: {}\n", remark);
}

}  // namespace cairn::program
