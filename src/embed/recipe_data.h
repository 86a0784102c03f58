// What stands behind the public headers: the recipe itself, and errors and ledgers in their public
// form.
#pragma once

#include <functional>

#include "cairn/ledger.h"
#include "cairn/recipe.h"
#include "memory/ledger.h"
#include "train/recipe.h"

namespace cairn {

class RecipeData {
 public:
  explicit RecipeData(Recipe recipe) : recipe_(std::move(recipe)) {}
  const Recipe& recipe() const { return recipe_; }

 private:
  Recipe recipe_;
};

// Runs `body`, and throws every error of Cairn's own as the public Error.
void with_public_errors(const std::function<void()>& body);

MemoryPeak peak_of(const Snapshot& snapshot);

}  // namespace cairn
