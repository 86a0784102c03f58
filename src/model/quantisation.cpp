#include "model/quantisation.h"

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
  return spec;
}

}  // namespace cairn
