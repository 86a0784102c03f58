// What a recipe file says, before any key is understood: a mapping of keys to plain values, from
// YAML, JSON or "key=value". Scalars stay text, so that 1e-4 is a number and `no` an evaluation
// strategy whatever a YAML version makes of them. Every value knows where it was written.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cairn {

struct GivenKey;
using GivenKeys = std::vector<GivenKey>;

struct Given {
  enum class Kind : uint8_t { null, scalar, sequence, mapping };
  Kind kind = Kind::null;
  std::string text;          // of a scalar
  std::vector<Given> items;  // of a sequence
  GivenKeys members;         // of a mapping
  std::string where;         // "my.yaml, line 3"; empty: not known

  bool is_null() const { return kind == Kind::null; }
  bool is_scalar() const { return kind == Kind::scalar; }
};

struct GivenKey {
  std::string name;
  Given value;
};

// As an error message shows it: "'abc'", "a list", "a mapping", "null".
std::string shown(const Given& given);
// " (my.yaml, line 3)", or nothing.
std::string shown_place(const Given& given);

// Throw UserError if the text is not one mapping, or gives a key twice at any depth.
GivenKeys parse_yaml_keys(std::string_view text, std::string_view origin);
// `kind` is what the text should be, in words.
GivenKeys parse_json_keys(std::string_view text, std::string_view origin,
                          std::string_view kind = "a recipe");

// Replaces or adds what "key=value" or "key.member=value" gives; YAML in [], {} or quotes alone.
void apply_override(GivenKeys& keys, std::string_view key_and_value);

}  // namespace cairn
