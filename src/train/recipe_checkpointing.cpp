// The keys that say how blocks are checkpointed: one policy under two names, and three switches
// that other trainers have for it, in whatever order they are given.
#include <fmt/format.h>

#include "base/error.h"
#include "train/recipe_key.h"
#include "train/recipe_rules.h"
#include "train/recipe_value.h"

namespace cairn {
namespace {

constexpr const char* kPolicy = "gradient_checkpointing";
constexpr const char* kNewerPolicy = "activation_checkpointing";  // Hugging Face's
constexpr const char* kOff = "disable_gradient_checkpointing";
constexpr const char* kOffloads[] = {"use_unsloth_gc", "activation_offloading"};

enum class Asked : uint8_t { nothing, off, on, a_policy };

const Given* find_policy(const GivenKeys& keys) {
  const Given* given = find_given(keys, kPolicy);
  return given ? given : find_given(keys, kNewerPolicy);
}

Asked asked_by_policy(const GivenKeys& keys) {
  const Given* given = find_policy(keys);
  if (!given) return Asked::nothing;
  bool on = false;
  if (read_value(*given, on)) return on ? Asked::on : Asked::off;
  return given->text == "none" ? Asked::off : Asked::a_policy;
}

}  // namespace

std::vector<std::string> checkpointing_switches(const GivenKeys& keys) {
  std::vector<std::string> on;
  if (is_on(keys, kOff)) on.emplace_back(kOff);
  for (const char* key : kOffloads)
    if (is_on(keys, key)) on.emplace_back(key);
  return on;
}

bool asks_for_checkpointing(const GivenKeys& keys) {
  return find_policy(keys) || !checkpointing_switches(keys).empty();
}

void resolve_checkpointing(Recipe& recipe, const GivenKeys& keys) {
  PolicyChoice& choice = recipe.memory.checkpointing;
  // LLaMA-Factory's name wins over Hugging Face's newer one, as its others do.
  if (const Given* policy = find_given(keys, kPolicy))
    find_recipe_key(kPolicy)->read(recipe, *policy);
  if (is_on(keys, kOff)) choice = *parse_policy("none");
  for (const char* key : kOffloads)
    if (is_on(keys, key)) choice = *parse_policy("offload");
  if (recipe.memory.memory_budget && !asks_for_checkpointing(keys) &&
      !recipe.deepspeed.config.cpu_checkpointing)
    choice = *parse_policy("auto");
}

void check_checkpointing(const GivenKeys& keys) {
  const Asked asked = asked_by_policy(keys);
  if (is_on(keys, kOff) && (asked == Asked::on || asked == Asked::a_policy))
    throw UserError(
        "disable_gradient_checkpointing and gradient_checkpointing contradict each other; keep "
        "one: gradient_checkpointing: none or block");
  for (const char* key : kOffloads) {
    if (!is_on(keys, key)) continue;
    const bool other = asked == Asked::a_policy && find_policy(keys)->text != "offload";
    if (is_on(keys, kOff) || asked == Asked::off || other)
      throw UserError(
          fmt::format("{} asks for gradient_checkpointing: offload, and another key for another "
                      "policy; keep one",
                      key));
  }
}

}  // namespace cairn
