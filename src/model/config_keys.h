// Typed look-ups in a config.json. A key that is absent or null gives the fallback; one that makes
// no sense is a UserError that names it.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace cairn {

inline constexpr int64_t kMostCount = int64_t{1} << 31;

// A positive whole number; without a fallback it must be there.
int64_t read_count(const nlohmann::json& config, const char* key,
                   std::optional<int64_t> fallback = {}, int64_t most = kMostCount);
// A positive number.
double read_number(const nlohmann::json& config, const char* key, double fallback);
bool read_flag(const nlohmann::json& config, const char* key, bool fallback);
std::string read_word(const nlohmann::json& config, const char* key, const char* fallback);
// Whether the key is there and not null.
bool has_key(const nlohmann::json& config, const char* key);

}  // namespace cairn
