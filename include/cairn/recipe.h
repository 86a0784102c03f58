// A recipe: what to train, on what, how. The same YAML or JSON that the program reads, with
// LLaMA-Factory's key names.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cairn {

class RecipeData;

class RunRecipe {
 public:
  // `overrides` are "key=value", as on the command line; of two for one key the later holds. Both
  // throw Error.
  static RunRecipe from_file(const std::string& path,
                             const std::vector<std::string>& overrides = {});
  // Relative paths in `yaml` are tried from the working directory, then from `folder` and its
  // parents.
  static RunRecipe from_text(const std::string& yaml,
                             const std::vector<std::string>& overrides = {},
                             const std::string& folder = "");

  // Every key with its resolved value.
  std::string to_yaml() const;
  // What was given and has no effect, one sentence each.
  std::vector<std::string> notes() const;

  // For Cairn itself.
  const RecipeData& data() const { return *data_; }

 private:
  explicit RunRecipe(std::shared_ptr<const RecipeData> data) : data_(std::move(data)) {}
  std::shared_ptr<const RecipeData> data_;
};

}  // namespace cairn
