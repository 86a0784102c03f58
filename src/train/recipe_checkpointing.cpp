// The keys that say how blocks are checkpointed: one policy, and three switches that other trainers
// have for it, in whatever order they are given.
#include <fmt/format.h>

#include "base/error.h"
#include "train/recipe_rules.h"
#include "train/recipe_value.h"

namespace cairn {
namespace {

constexpr const char* kPolicy = "gradient_checkpointing";
constexpr const char* kOff = "disable_gradient_checkpointing";
constexpr const char* kOffloads[] = {"use_unsloth_gc", "activation_offloading"};

enum class Asked : uint8_t { nothing, off, on, a_policy };

Asked asked_by_policy(const GivenKeys& keys) {
  const Given* given = find_given(keys, kPolicy);
  if (!given) return Asked::nothing;
  bool on = false;
  if (read_value(*given, on)) return on ? Asked::on : Asked::off;
  return given->text == "none" ? Asked::off : Asked::a_policy;
}

}  // namespace

bool asks_for_checkpointing(const GivenKeys& keys) {
  bool asks = is_given(keys, kPolicy) || is_on(keys, kOff);
  for (const char* key : kOffloads) asks |= is_on(keys, key);
  return asks;
}

void resolve_checkpointing(Recipe& recipe, const GivenKeys& keys) {
  PolicyChoice& choice = recipe.memory.checkpointing;
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
    const bool other = asked == Asked::a_policy && find_given(keys, kPolicy)->text != "offload";
    if (is_on(keys, kOff) || asked == Asked::off || other)
      throw UserError(
          fmt::format("{} asks for gradient_checkpointing: offload, and another key for another "
                      "policy; keep one",
                      key));
  }
}

}  // namespace cairn
