// The keys of many ranks: Cairn's own, and LLaMA-Factory's "deepspeed", which sets them.
#include "train/deepspeed/deepspeed_source.h"
#include "train/recipe_key.h"

namespace cairn {
namespace {

// Elements of at least `least`, or "auto": worked out from the model's hidden size.
RecipeKey elements_or_auto(const std::string& name, int64_t ShardingSettings::*member,
                           int64_t least) {
  RecipeKey key;
  key.name = name;
  key.expected = fmt::format("an integer of at least {}, or auto", least);
  key.read = [=, expected = key.expected](Recipe& recipe, const Given& given) {
    int64_t value = kAutoElements;
    const bool is_auto = given.is_scalar() && given.text == "auto";
    if (!is_auto && (!read_value(given, value) || value < least))
      throw_wrong_value(name, expected, given);
    recipe.sharding.*member = value;
  };
  key.write = [=](const Recipe& recipe) {
    const int64_t value = recipe.sharding.*member;
    return value == kAutoElements ? RecipeJson("auto") : RecipeJson(value);
  };
  return key;
}

// What it sets is printed by other keys.
RecipeKey deepspeed_key() {
  RecipeKey key;
  key.name = "deepspeed";
  key.expected = "the path of a DeepSpeed JSON, or the JSON itself";
  key.read = [expected = key.expected](Recipe& recipe, const Given& given) {
    if (given.kind == Given::Kind::mapping)
      recipe.deepspeed.source = json_text_of(given);
    else if (given.is_scalar() && !given.text.empty())
      recipe.deepspeed.source = given.text;
    else
      throw_wrong_value("deepspeed", expected, given);
  };
  return key;
}

}  // namespace

std::vector<RecipeKey> sharding_keys() {
  const auto sharding = &Recipe::sharding;
  const auto one = at_least<int64_t>(1);
  return {
      honoured("zero_stage", sharding, &ShardingSettings::stage, between_counts(0, 3)),
      honoured("zero_overlap", sharding, &ShardingSettings::overlap),
      elements_or_auto("zero_reduce_bucket", &ShardingSettings::reduce_bucket, 1),
      honoured("zero_gather_bucket", sharding, &ShardingSettings::gather_bucket, one),
      elements_or_auto("zero_persistence_threshold", &ShardingSettings::persistence_threshold, 0),
      elements_or_auto("zero_prefetch", &ShardingSettings::prefetch_elements, 0),
      honoured("ddp_timeout", sharding, &ShardingSettings::timeout_seconds, one),
      deepspeed_key()};
}

}  // namespace cairn
