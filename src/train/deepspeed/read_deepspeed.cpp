#include "train/deepspeed/read_deepspeed.h"

#include <fmt/format.h>

#include "data/nearest_names.h"
#include "train/deepspeed/deepspeed_key.h"

namespace cairn {
namespace {

using deepspeed::Key;

// Older names, and the second one of bf16.
std::string present_name(const std::string& path) {
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"bfloat16", "bf16"},
      {"zero_optimization.prefetch_bucket_size", "zero_optimization.stage3_prefetch_bucket_size"},
      {"zero_optimization.param_persistence_threshold",
       "zero_optimization.stage3_param_persistence_threshold"},
      {"zero_optimization.model_persistence_threshold",
       "zero_optimization.stage3_model_persistence_threshold"},
      {"zero_optimization.max_live_parameters", "zero_optimization.stage3_max_live_parameters"},
      {"zero_optimization.max_reuse_distance", "zero_optimization.stage3_max_reuse_distance"},
      {"zero_optimization.gather_16bit_weights_on_model_save",
       "zero_optimization.stage3_gather_16bit_weights_on_model_save"},
      {"zero_optimization.stage3_gather_fp16_weights_on_model_save",
       "zero_optimization.stage3_gather_16bit_weights_on_model_save"}};
  for (const auto& [older, present] : kNames)
    if (path == older) return std::string(present);
  return path;
}

// Of the keys beside it; of all, by their last name, if it stands in the wrong place.
std::string nearest_path(const std::string& section, const std::string& name) {
  std::vector<std::string> beside;
  for (const Key& key : deepspeed::keys()) {
    const std::string& path = key.path;
    if (path.ends_with("." + name)) return path;
    if (!path.starts_with(section)) continue;
    const std::string below = path.substr(section.size());
    beside.push_back(below.substr(0, below.find('.')));
  }
  return section + nearest_names(name, beside, 1).front();
}

class Reader {
 public:
  explicit Reader(const std::string& origin) { config_.origin = origin; }

  void read_members(const GivenKeys& members, const std::string& section) {
    for (const auto& [name, given] : members) {
      if (name.starts_with('_') || given.is_null()) continue;
      read(present_name(section + name), section, name, given);
    }
  }

  DeepspeedConfig take() { return std::move(config_); }

 private:
  void read(const std::string& path, const std::string& section, const std::string& name,
            const Given& given) {
    if (const Key* key = deepspeed::find_key(path)) return read_key(*key, given);
    if (!deepspeed::is_section(path))
      throw UserError(
          fmt::format("'{}' is not a key of a DeepSpeed configuration{}; the nearest "
                      "key is '{}'",
                      section + name, shown_place(given), nearest_path(section, name)));
    if (given.kind == Given::Kind::mapping) return read_members(given.members, path + ".");
    // Older files say true for stage 1.
    bool on = false;
    if (path != "zero_optimization" || !read_value(given, on))
      throw_wrong_value(path, "an object {\"key\": value}", given);
    config_.zero.stage = on ? 1 : 0;
  }

  void read_key(const Key& key, const Given& given) {
    key.read(config_, given);
    if (key.standing == Standing::no_effect && !key.is_quiet(given))
      config_.without_effect.emplace_back(key.path, key.why);
  }

  DeepspeedConfig config_;
};

}  // namespace

DeepspeedConfig parse_deepspeed(const DeepspeedSource& source) {
  Reader reader(source.origin);
  reader.read_members(parse_json_keys(source.text, source.origin, "a DeepSpeed configuration"), "");
  return reader.take();
}

}  // namespace cairn
