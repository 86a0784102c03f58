// The keys of Cairn's own that say what memory may be used and which tool saves it.
#include "backend/registry.h"
#include "base/bytes.h"
#include "train/recipe_key.h"

namespace cairn {
namespace {

// An integer from 1 to `most`, or "auto", kept as 0.
template <typename Subject>
RecipeKey honoured_or_auto(const std::string& name, Subject Recipe::*subject,
                           int64_t Subject::*member, int64_t most) {
  RecipeKey key;
  key.name = name;
  key.expected = fmt::format("an integer of at least 1 and at most {}, or auto", most);
  key.read = [=, expected = key.expected](Recipe& recipe, const Given& given) {
    int64_t value = 0;
    const bool is_auto = given.is_scalar() && given.text == "auto";
    if (!is_auto && (!read_value(given, value) || value < 1 || value > most))
      throw_wrong_value(name, expected, given);
    recipe.*subject.*member = value;
  };
  key.write = [=](const Recipe& recipe) {
    const int64_t value = recipe.*subject.*member;
    return value == 0 ? RecipeJson("auto") : RecipeJson(value);
  };
  return key;
}

// An amount of memory of at least 1 MiB.
template <typename T>
RecipeKey bytes_key(const std::string& name, T MemoryRecipe::*member) {
  RecipeKey key;
  key.name = name;
  key.expected = "an amount of memory of at least 1MiB, such as 24GiB or 800MiB";
  key.read = [=, expected = key.expected](Recipe& recipe, const Given& given) {
    int64_t bytes = 0;
    try {
      if (given.is_scalar()) bytes = parse_bytes(given.text);
    } catch (const UserError&) {
      // Falls short of the range below, whose sentence names the key as well.
    }
    if (bytes < kMiB) throw_wrong_value(name, expected, given);
    recipe.memory.*member = bytes;
  };
  key.write = [=](const Recipe& recipe) { return written_value(recipe.memory.*member); };
  return key;
}

// true, false or a policy. LLaMA-Factory keeps a checkpoint per block whatever this key says; here
// false switches checkpointing off, as it reads.
RecipeKey checkpointing_key(const std::string& name) {
  RecipeKey key;
  key.name = name;
  key.expected = fmt::format("true, false or a policy: {}", policy_words());
  key.read = [name, expected = key.expected](Recipe& recipe, const Given& given) {
    bool on = false;
    std::optional<PolicyChoice> choice;
    if (read_value(given, on))
      choice = parse_policy(on ? "block" : "none");
    else if (given.is_scalar())
      choice = parse_policy(given.text);
    if (!choice) throw_wrong_value(name, expected, given);
    recipe.memory.checkpointing = *choice;
  };
  key.write = [](const Recipe& recipe) {
    return RecipeJson(to_string(recipe.memory.checkpointing));
  };
  return key;
}

Range<std::string> device_range() {
  return {": auto, cpu, cuda or cuda:N", [](const std::string& device) {
            if (device == "auto" || device == "cpu" || device == "cuda") return true;
            const std::string prefix = "cuda:";
            return device.starts_with(prefix) && device.size() > prefix.size() &&
                   device.size() < prefix.size() + 4 &&
                   device.find_first_not_of("0123456789", prefix.size()) == std::string::npos;
          }};
}

}  // namespace

RecipeKey activation_checkpointing_key() {
  RecipeKey key = checkpointing_key("activation_checkpointing");
  key.write = nullptr;
  return key;
}

std::vector<RecipeKey> memory_keys() {
  const auto memory = &Recipe::memory;
  return {bytes_key("memory_budget", &MemoryRecipe::memory_budget),
          checkpointing_key("gradient_checkpointing"),
          switch_key("disable_gradient_checkpointing"),
          switch_key("use_unsloth_gc"),
          honoured_or_auto("loss_chunk", memory, &MemoryRecipe::loss_chunk, kMostBatchTokens),
          honoured_or_auto("mlp_tile", memory, &MemoryRecipe::mlp_tile, kMostBatchTokens),
          honoured("weights_place", memory, &MemoryRecipe::weights_place),
          honoured("optimizer_place", memory, &MemoryRecipe::optimizer_place),
          bytes_key("page_resident", &MemoryRecipe::page_resident),
          honoured("optimizer_in_backward", memory, &MemoryRecipe::optimizer_in_backward),
          honoured("max_grad_norm_per_unit", memory, &MemoryRecipe::max_grad_norm_per_unit),
          honoured("page_dir", memory, &MemoryRecipe::page_dir),
          honoured("device", memory, &MemoryRecipe::device, device_range()),
          honoured_or_auto("threads", memory, &MemoryRecipe::threads, kMostThreads)};
}

}  // namespace cairn
