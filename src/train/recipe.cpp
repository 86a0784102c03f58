// Reading a recipe: keys from the source, values through the table, then the rules between keys.
#include "train/recipe.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>

#include "base/bytes.h"
#include "base/error.h"
#include "train/deepspeed/deepspeed_recipe.h"
#include "train/recipe_key.h"
#include "train/recipe_rules.h"
#include "train/recipe_source.h"

namespace cairn {
namespace {

// LLaMA-Factory's own switch for keys that nobody knows.
bool extra_keys_allowed() {
  const char* value = std::getenv("ALLOW_EXTRA_ARGS");
  bool allowed = false;
  return value && read_value(Given{Given::Kind::scalar, value, {}, {}, ""}, allowed) && allowed;
}

void read_unknown_key(Recipe& recipe, const std::string& name, const Given& given) {
  const std::string_view nearest = nearest_recipe_key(name);
  if (!extra_keys_allowed())
    throw UserError(fmt::format("'{}' is not a key of a recipe{}; the nearest key is '{}'", name,
                                shown_place(given), nearest));
  recipe.notes.push_back({name, fmt::format("it is not a key of a recipe (the nearest is '{}') and "
                                            "was let through by ALLOW_EXTRA_ARGS",
                                            nearest)});
}

void read_key(Recipe& recipe, const std::string& name, const Given& given) {
  const RecipeKey* key = find_recipe_key(name);
  if (!key) return read_unknown_key(recipe, name, given);
  if (given.is_null() && !key->takes_null) return;
  key->read(recipe, given);
  if (key->standing == Standing::no_effect && !key->is_quiet(given))
    recipe.notes.push_back({name, key->why});
}

// A shell leaves ~ alone behind output_dir=, and in a file nobody else looks at it.
void expand_home(const std::string& name, Given& given) {
  constexpr std::string_view kPathKeys[] = {"model_name_or_path", "adapter_name_or_path",
                                            "dataset_dir",        "tokenized_path",
                                            "output_dir",         "page_dir",
                                            "deepspeed",          "resume_from_checkpoint"};
  const char* home = std::getenv("HOME");
  if (home && given.is_scalar() && given.text.starts_with("~/") &&
      std::find(std::begin(kPathKeys), std::end(kPathKeys), name) != std::end(kPathKeys))
    given.text.replace(0, 1, home);
}

std::string text_of(const std::filesystem::path& path) {
  // It may come through a pipe, whose length nobody knows.
  constexpr size_t kMostBytes = 4 * kMiB;
  std::ifstream file(path, std::ios::binary);
  std::string text(kMostBytes, '\0');
  const bool readable = file && !std::filesystem::is_directory(path);
  if (readable) file.read(text.data(), kMostBytes);
  if (!readable || file.bad())
    throw UserError(fmt::format("'{}' cannot be read; give the path of a recipe in YAML or JSON",
                                path.string()));
  text.resize(static_cast<size_t>(file.gcount()));
  if (text.size() == kMostBytes)
    throw UserError(fmt::format("'{}' has {} or more; give the path of a recipe in YAML or JSON",
                                path.string(), format_bytes(kMostBytes)));
  return text;
}

bool is_plain_yaml(const std::string& text) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.' || c == '/' || c == ',' || c == ':';
  };
  const std::string reserved[] = {"null", "Null", "NULL"};
  const char first = text.empty() ? ':' : text[0];
  return first != '-' && first != ':' && first != ',' && text.back() != ':' &&
         std::all_of(text.begin(), text.end(), plain) &&
         std::find(std::begin(reserved), std::end(reserved), text) == std::end(reserved);
}

std::string yaml_scalar(const RecipeJson& value) {
  if (value.is_string() && is_plain_yaml(value.get<std::string>())) return value;
  // A JSON string is a double-quoted YAML scalar.
  return value.dump();
}

Recipe resolve_keys(GivenKeys keys, const std::filesystem::path& folder) {
  Recipe recipe;
  recipe.folder = folder;
  for (auto& [name, given] : keys) {
    expand_home(name, given);
    read_key(recipe, name, given);
  }
  apply_deepspeed(recipe, keys);
  resolve_recipe(recipe, keys);
  check_recipe(recipe, keys);
  note_overridden_keys(recipe, keys);
  recipe.given = std::move(keys);
  return recipe;
}

}  // namespace

Recipe parse_recipe(std::string_view text, RecipeFormat format,
                    const std::vector<std::string>& overrides, std::string_view origin,
                    const std::filesystem::path& folder) {
  GivenKeys keys =
      format == RecipeFormat::json ? parse_json_keys(text, origin) : parse_yaml_keys(text, origin);
  for (const std::string& override_text : overrides) apply_override(keys, override_text);
  return resolve_keys(std::move(keys), folder);
}

Recipe read_again(const Recipe& recipe, const std::vector<std::string>& overrides) {
  GivenKeys keys = recipe.given;
  for (const std::string& override_text : overrides) apply_override(keys, override_text);
  return resolve_keys(std::move(keys), recipe.folder);
}

Recipe read_recipe(const std::filesystem::path& path, const std::vector<std::string>& overrides) {
  const RecipeFormat format = path.extension() == ".json" ? RecipeFormat::json : RecipeFormat::yaml;
  return parse_recipe(text_of(path), format, overrides, path.string(),
                      std::filesystem::absolute(path).parent_path());
}

std::string to_yaml(const Recipe& recipe) {
  std::string text, subject;
  for (const RecipeKey& key : recipe_keys()) {
    if (!key.write) continue;
    if (key.subject != subject) {
      text += fmt::format("{}### {}\n", subject.empty() ? "" : "\n", key.subject);
      subject = key.subject;
    }
    text += fmt::format("{}: {}\n", key.name, yaml_scalar(key.write(recipe)));
  }
  if (!recipe.notes.empty()) text += "\n### without effect here\n";
  for (const Note& note : recipe.notes) text += fmt::format("# {}: {}\n", note.key, note.text);
  return text;
}

std::string to_json(const Recipe& recipe) {
  RecipeJson object = RecipeJson::object();
  for (const RecipeKey& key : recipe_keys())
    if (key.write) object[key.name] = key.write(recipe);
  return object.dump(2);
}

int64_t resolve_steps(double steps, int64_t total_steps) {
  if (steps >= 1) return static_cast<int64_t>(steps);
  const double share = std::ceil(steps * static_cast<double>(total_steps));
  return std::max<int64_t>(1, static_cast<int64_t>(share));
}

int64_t resolve_warmup_steps(const TrainRecipe& train, int64_t total_steps) {
  if (train.warmup_steps >= 1) return static_cast<int64_t>(train.warmup_steps);
  const double share = train.warmup_steps > 0 ? train.warmup_steps : train.warmup_ratio;
  return static_cast<int64_t>(std::ceil(share * static_cast<double>(total_steps)));
}

}  // namespace cairn
