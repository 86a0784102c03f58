// JSON from outside, whatever is in it: bounded before it is parsed, so that no text of any size
// takes the stack, and refused where two readers could understand it differently.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace cairn {

// Deeper than any real file nests. Values are copied, written and compared recursively.
inline constexpr int kDeepestJson = 200;

// Members of one object that nlohmann::ordered_json takes: it looks for each among all before it.
inline constexpr int64_t kMostOrderedMembers = 4096;

// What a text will be before it is parsed. Of a text that is not JSON it says nothing.
struct JsonExtent {
  int depth = 0;             // how deep objects and arrays nest
  int64_t members = 0;       // of all objects together, counted as often as they are given
  int64_t most_members = 0;  // of one object; not of those deeper than kDeepestJson
};
JsonExtent measure_json(std::string_view text);

// `name` stands for the text in errors. Throws DamagedFile: not JSON (line and column), not UTF-8,
// a byte of zero, a number that no double holds, a key that an object gives twice, or nested deeper
// than kDeepestJson.
nlohmann::json parse_json(std::string_view text, const std::string& name);

}  // namespace cairn
