#include "model/quantisation.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"

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

}  // namespace cairn
