// resume_from_checkpoint, whose value is a switch, a path, or nothing.
#include "train/recipe_key.h"

namespace cairn {
namespace {

using Kind = ResumeChoice::Kind;

RecipeJson written(const ResumeChoice& choice) {
  switch (choice.kind) {
    case Kind::automatic:
      return RecipeJson();
    case Kind::anew:
      return false;
    case Kind::last:
      return true;
    case Kind::path:
      break;
  }
  return choice.path;
}

}  // namespace

RecipeKey resume_key() {
  constexpr std::string_view name = "resume_from_checkpoint";
  RecipeKey key;
  key.name = name;
  key.expected = "true, false, null or the folder of a checkpoint";
  key.read = [name, expected = key.expected](Recipe& recipe, const Given& given) {
    bool on = false;
    if (!given.is_scalar() || given.text.empty()) throw_wrong_value(name, expected, given);
    if (read_value(given, on))
      recipe.output.resume = {on ? Kind::last : Kind::anew, ""};
    else
      recipe.output.resume = {Kind::path, given.text};
  };
  key.write = [](const Recipe& recipe) { return written(recipe.output.resume); };
  return key;
}

}  // namespace cairn
