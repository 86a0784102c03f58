#include "model/quantisation.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "model/model.h"

namespace cairn {
namespace {

bool is_set(const nlohmann::json& config, const char* key) {
  const auto found = config.find(key);
  return found != config.end() && found->is_boolean() && found->get<bool>();
}

}  // namespace

QuantSpec parse_quantisation(const nlohmann::json& config) {
  const auto method = config.is_object() ? config.find("quant_method") : config.end();
  const bool four_bits =
      config.is_object() && (is_set(config, "load_in_4bit") || is_set(config, "_load_in_4bit"));
  if (!four_bits || (method != config.end() && *method != "bitsandbytes"))
    throw UserError(
        fmt::format("config.json describes weights quantised by {}; Cairn reads those of "
                    "bitsandbytes in 4 bits",
                    method != config.end() && method->is_string() ? method->get<std::string>()
                                                                  : "an unknown method"));
  QuantSpec spec;
  spec.nested = is_set(config, "bnb_4bit_use_double_quant");
  // Where there are files, what is in them decides; a plan without any goes by this list.
  const auto skipped = config.find("llm_int8_skip_modules");
  if (skipped == config.end() || skipped->is_null()) return spec;
  const bool names = skipped->is_array() && std::ranges::all_of(*skipped, [](const auto& entry) {
                       return entry.is_string();
                     });
  if (!names)
    throw UserError(
        "config.json: 'llm_int8_skip_modules' is no list of module names; write one, or null");
  spec.plain_modules = skipped->get<std::vector<std::string>>();
  return spec;
}

bool names_module(const std::string& name, const std::string& module) {
  return module == name || module.starts_with(name + ".") || module.ends_with("." + name);
}

void check_plain_modules(const Model& model, std::string_view key) {
  if (!model.spec().quantisation) return;
  constexpr std::string_view kWeight = ".weight";
  for (const std::string& name : model.spec().quantisation->plain_modules)
    // The head is never quantised, and may be the embedding.
    if (name != "lm_head" &&
        std::ranges::none_of(model.parameters(), [&](const Parameter& parameter) {
          return parameter.name.ends_with(kWeight) &&
                 names_module(name,
                              parameter.name.substr(0, parameter.name.size() - kWeight.size()));
        }))
      throw UserError(
          fmt::format("{}: '{}' is no module of this model; give names such as down_proj, "
                      "model.layers.0 or model.layers.0.mlp.down_proj",
                      key, name));
}

}  // namespace cairn
