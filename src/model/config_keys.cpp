#include "model/config_keys.h"

#include <limits>

#include "base/error.h"

namespace cairn {

using nlohmann::json;

bool has_key(const json& config, const char* key) {
  const auto found = config.find(key);
  return found != config.end() && !found->is_null();
}

int64_t read_count(const json& config, const char* key, std::optional<int64_t> fallback,
                   int64_t most) {
  if (!has_key(config, key)) {
    if (fallback) return *fallback;
    throw UserError(fmt::format("config.json has no '{}'; every decoder needs it", key));
  }
  const json& value = config[key];
  if (!value.is_number_integer() || value.get<int64_t>() <= 0 || value.get<int64_t>() > most)
    throw UserError(
        fmt::format("config.json: '{}' is {}; a positive whole number of at most {} was expected",
                    key, value.dump(), most));
  return value.get<int64_t>();
}

double read_number(const json& config, const char* key, double fallback) {
  if (!has_key(config, key)) return fallback;
  const json& value = config[key];
  if (!value.is_number() || !(value.get<double>() > 0) ||
      value.get<double>() > std::numeric_limits<float>::max())
    throw UserError(
        fmt::format("config.json: '{}' is {}; a positive number was expected", key, value.dump()));
  return value.get<double>();
}

bool read_flag(const json& config, const char* key, bool fallback) {
  if (!has_key(config, key)) return fallback;
  if (!config[key].is_boolean())
    throw UserError(fmt::format("config.json: '{}' is {}; true or false was expected", key,
                                config[key].dump()));
  return config[key].get<bool>();
}

std::string read_word(const json& config, const char* key, const char* fallback) {
  if (!has_key(config, key)) return fallback;
  if (!config[key].is_string())
    throw UserError(
        fmt::format("config.json: '{}' is {}; a word was expected", key, config[key].dump()));
  return config[key].get<std::string>();
}

}  // namespace cairn
