#include "base/json.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <vector>

#include "base/error.h"

namespace cairn {
namespace {

using nlohmann::json;

std::string place_of(std::string_view text, size_t byte) {
  const std::string_view before = text.substr(0, std::min(byte, text.size()));
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const size_t start = before.rfind('\n');
  const size_t column = before.size() - (start == std::string_view::npos ? 0 : start + 1);
  return fmt::format("line {}, column {}", line, std::max<size_t>(column, 1));
}

int64_t members_of(const json& value) {
  int64_t members = value.is_object() ? static_cast<int64_t>(value.size()) : 0;
  if (value.is_structured())
    for (const json& inner : value) members += members_of(inner);
  return members;
}

// The first key that an object gives twice. Slow, and called only if there is one.
std::string key_given_twice(std::string_view text) {
  std::vector<std::set<std::string>> open;
  std::optional<std::string> twice;
  const auto watch = [&](int, json::parse_event_t event, json& parsed) {
    if (event == json::parse_event_t::object_start) open.emplace_back();
    if (event == json::parse_event_t::object_end) open.pop_back();
    if (event == json::parse_event_t::key && !open.back().insert(parsed.get<std::string>()).second)
      twice = twice.value_or(parsed.get<std::string>());
    return true;
  };
  const json parsed = json::parse(text, watch);
  return twice.value_or("");
}

}  // namespace

JsonExtent measure_json(std::string_view text) {
  JsonExtent extent;
  int depth = 0;
  std::array<int64_t, kDeepestJson + 1> open = {};  // members so far, by depth
  const auto is_counted = [&] { return depth >= 0 && depth <= kDeepestJson; };
  bool quoted = false;
  for (size_t at = 0; at < text.size(); ++at) {
    const char letter = text[at];
    if (quoted) {
      if (letter == '\\') ++at;
      if (letter == '"') quoted = false;
    } else if (letter == '"') {
      quoted = true;
    } else if (letter == '{' || letter == '[') {
      extent.depth = std::max(extent.depth, ++depth);
      if (is_counted()) open[static_cast<size_t>(depth)] = 0;
    } else if (letter == '}' || letter == ']') {
      --depth;
    } else if (letter == ':') {
      ++extent.members;
      if (is_counted())
        extent.most_members = std::max(extent.most_members, ++open[static_cast<size_t>(depth)]);
    }
  }
  return extent;
}

json parse_json(std::string_view text, const std::string& name) {
  const JsonExtent extent = measure_json(text);
  if (extent.depth > kDeepestJson)
    throw DamagedFile(
        fmt::format("{} nests its JSON more than {} levels deep, which no file of its kind does.",
                    name, kDeepestJson));
  // The parser would end there and drop the rest.
  if (const size_t nul = text.find('\0'); nul != text.npos)
    throw DamagedFile(fmt::format("{} has a byte of zero at {}: download or write it again.", name,
                                  place_of(text, nul + 1)));
  try {
    json value = json::parse(text.begin(), text.end());
    // The parser keeps the last of two equal keys; others keep the first.
    if (members_of(value) != extent.members)
      throw DamagedFile(
          fmt::format("{} gives the key \"{}\" twice in one object: keep the one that is meant.",
                      name, key_given_twice(text)));
    return value;
  } catch (const json::parse_error& error) {
    throw DamagedFile(fmt::format("{} is not valid JSON at {}: download or write it again.", name,
                                  place_of(text, error.byte)));
  } catch (const json::out_of_range&) {
    throw DamagedFile(fmt::format("{} holds a number that is out of range.", name));
  }
}

}  // namespace cairn
