// One row of the table of DeepSpeed's keys: a path into the JSON, what its value must look like,
// where it goes, and its standing, as train/recipe_key.h has it for recipes.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "train/deepspeed/deepspeed_config.h"
#include "train/recipe_key.h"

namespace cairn::deepspeed {

struct Key {
  std::string path;  // "zero_optimization.stage"
  Standing standing = Standing::honoured;
  std::string expected;  // "an integer of at least 1, or auto"
  std::string why;       // no effect: why; refused: what to use instead
  // Throws UserError. Never called with null, which stands for the default.
  std::function<void(DeepspeedConfig&, const Given&)> read;
  std::function<bool(const Given&)> is_quiet = [](const Given&) { return false; };
};

// Every key, section by section.
const std::vector<Key>& keys();
const Key* find_key(std::string_view path);
// "zero_optimization": whether rows lie below that path.
bool is_section(std::string_view path);

// DeepSpeed takes 5e8 where it wants an integer.
bool read_plain(const Given& given, int64_t& value);
template <typename T>
bool read_plain(const Given& given, T& value) {
  return read_value(given, value);
}
inline bool is_auto(const Given& given) { return given.is_scalar() && given.text == "auto"; }

// `get` gives the field of the configuration.
template <typename T, typename Get>
Key honoured(std::string path, Range<T> range, Get get) {
  Key key;
  key.path = path;
  key.expected = expected_words<T>() + range.words;
  key.read = [=, expected = key.expected](DeepspeedConfig& config, const Given& given) {
    T value{};
    if (!read_plain(given, value) || !range.holds(value)) throw_wrong_value(path, expected, given);
    get(config) = value;
  };
  return key;
}
// The same for a Setting<T>, which takes "auto" as well.
template <typename T, typename Get>
Key honoured_or_auto(std::string path, Range<T> range, Get get) {
  Key key;
  key.path = path;
  key.expected = expected_words<T>() + range.words + ", or auto";
  key.read = [=, expected = key.expected](DeepspeedConfig& config, const Given& given) {
    T value{};
    const bool automatic = is_auto(given);
    if (!automatic && (!read_plain(given, value) || !range.holds(value)))
      throw_wrong_value(path, expected, given);
    get(config) = {automatic, automatic ? std::nullopt : std::optional<T>(value)};
  };
  return key;
}

// A key without effect. The values in `quiet` ask for what happens anyway.
Key without_effect(std::string path, ValueKind kind, std::string why,
                   std::vector<std::string> quiet = {});
// Refused unless the value is one of `harmless`, which ask for what happens anyway.
Key refused(std::string path, std::string instead, std::vector<std::string> harmless = {});

// The tables, one file a part.
std::vector<Key> zero_keys();      // "zero_optimization"
std::vector<Key> batch_keys();     // batch, precision, optimizer, scheduler
std::vector<Key> platform_keys();  // logs, files, communication, other parts of DeepSpeed

}  // namespace cairn::deepspeed
