// The table as a whole: joining its parts, finding a row, and rows of the two simple standings.
#include "train/deepspeed/deepspeed_key.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace cairn::deepspeed {
namespace {

std::vector<Key> joined_tables() {
  std::vector<Key> joined;
  for (auto* table : {batch_keys, zero_keys, platform_keys})
    for (Key& key : table()) joined.push_back(std::move(key));
  for (size_t i = 0; i < joined.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      CAIRN_CHECK(joined[i].path != joined[j].path, "[deepspeed] wanted one row for {}, got two",
                  joined[i].path);
  return joined;
}

bool is_among(const Given& given, const std::vector<std::string>& words) {
  return given.is_scalar() && std::find(words.begin(), words.end(), given.text) != words.end();
}

// A part of DeepSpeed that is switched off is no part.
bool is_switched_off(const Given& given) {
  for (const auto& [name, member] : given.members) {
    bool on = true;
    if (name == "enabled") return read_value(member, on) && !on;
  }
  return false;
}

}  // namespace

const std::vector<Key>& keys() {
  static const std::vector<Key> joined = joined_tables();
  return joined;
}

const Key* find_key(std::string_view path) {
  for (const Key& key : keys())
    if (key.path == path) return &key;
  return nullptr;
}

bool is_section(std::string_view path) {
  const std::string prefix = std::string(path) + ".";
  return std::any_of(keys().begin(), keys().end(),
                     [&](const Key& key) { return key.path.starts_with(prefix); });
}

bool read_plain(const Given& given, int64_t& value) {
  if (read_value(given, value)) return true;
  constexpr double kExact = 9007199254740992.0;  // 2^53
  double number = 0;
  if (!read_value(given, number) || std::abs(number) > kExact || std::floor(number) != number)
    return false;
  value = static_cast<int64_t>(number);
  return true;
}

Key without_effect(std::string path, ValueKind kind, std::string why,
                   std::vector<std::string> quiet) {
  Key key;
  key.path = path;
  key.standing = Standing::no_effect;
  key.expected = words_for(kind);
  key.why = std::move(why);
  key.read = [=, expected = key.expected](DeepspeedConfig&, const Given& given) {
    int64_t count = 0;
    if (kind == ValueKind::integer ? !read_plain(given, count) : !is_of_kind(given, kind))
      throw_wrong_value(path, expected, given);
  };
  key.is_quiet = [quiet = std::move(quiet)](const Given& given) { return is_among(given, quiet); };
  return key;
}

Key refused(std::string path, std::string instead, std::vector<std::string> harmless) {
  Key key;
  key.path = path;
  key.standing = Standing::refused;
  key.expected = harmless.empty() ? "null" : fmt::format("{} or null", fmt::join(harmless, ", "));
  key.why = instead;
  key.read = [=, harmless = std::move(harmless)](DeepspeedConfig&, const Given& given) {
    if (!is_among(given, harmless) && !is_switched_off(given))
      throw_not_taken(path, given, "", instead);
  };
  return key;
}

}  // namespace cairn::deepspeed
