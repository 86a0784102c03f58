// All of Cairn that a program may embed: plan a run, train it, read its ledger.
//
//   const auto recipe = cairn::RunRecipe::from_file("recipe.yaml", {"memory_budget=8GiB"});
//   if (cairn::plan(recipe).fits) cairn::train(recipe);
#pragma once

#include "cairn/error.h"
#include "cairn/ledger.h"
#include "cairn/plan.h"
#include "cairn/recipe.h"
#include "cairn/train.h"
