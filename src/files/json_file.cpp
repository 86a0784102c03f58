#include "files/json_file.h"

#include <algorithm>
#include <span>

#include "base/bytes.h"
#include "base/error.h"
#include "files/atomic_file.h"
#include "files/file_kind.h"
#include "files/input_file.h"

namespace cairn {
namespace {

constexpr int64_t kMaxJsonBytes = kGiB / 2;
constexpr int kMaxJsonDepth = 200;

// Values are freed and written recursively, so the depth is bounded before parsing.
int depth_of(std::string_view text) {
  int depth = 0, deepest = 0;
  bool quoted = false;
  for (size_t at = 0; at < text.size(); ++at) {
    const char letter = text[at];
    if (quoted) {
      if (letter == '\\') ++at;
      if (letter == '"') quoted = false;
    } else if (letter == '"') {
      quoted = true;
    } else if (letter == '{' || letter == '[') {
      deepest = std::max(deepest, ++depth);
    } else if (letter == '}' || letter == ']') {
      --depth;
    }
  }
  return deepest;
}

std::string place_of(std::string_view text, size_t byte) {
  const std::string_view before = text.substr(0, std::min(byte, text.size()));
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const size_t start = before.rfind('\n');
  const size_t column = before.size() - (start == std::string_view::npos ? 0 : start + 1);
  return fmt::format("line {}, column {}", line, std::max<size_t>(column, 1));
}

}  // namespace

nlohmann::json parse_json(std::string_view text, const std::string& name) {
  if (depth_of(text) > kMaxJsonDepth)
    throw DamagedFile(
        fmt::format("{} nests its JSON more than {} levels deep, which no model file "
                    "does.",
                    name, kMaxJsonDepth));
  try {
    return nlohmann::json::parse(text.begin(), text.end());
  } catch (const nlohmann::json::parse_error& error) {
    throw DamagedFile(fmt::format("{} is not valid JSON at {}: download or write it again.", name,
                                  place_of(text, error.byte)));
  } catch (const nlohmann::json::out_of_range& error) {
    throw DamagedFile(fmt::format("{} holds a number that is out of range.", name));
  }
}

nlohmann::json read_json_object(const std::string& path) {
  const InputFile file(path);
  if (const auto refusal = refusal_of_kind(file, WantedKind::json)) throw DamagedFile(*refusal);
  if (file.size() > kMaxJsonBytes)
    throw DamagedFile(fmt::format("{} is {} of JSON, where at most {} is sensible.", path,
                                  format_bytes(file.size()), format_bytes(kMaxJsonBytes)));
  std::string text(static_cast<size_t>(file.size()), '\0');
  file.read(0, std::as_writable_bytes(std::span(text)));
  nlohmann::json value = parse_json(text, path);
  if (!value.is_object())
    throw DamagedFile(
        fmt::format("{} holds a JSON {}, where an object was expected.", path, value.type_name()));
  return value;
}

void write_json(const std::string& path, const nlohmann::json& value) {
  write_text(path, value.dump(2) + "\n");
}

}  // namespace cairn
