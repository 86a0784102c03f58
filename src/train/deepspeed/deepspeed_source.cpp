#include "train/deepspeed/deepspeed_source.h"

#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "base/bytes.h"
#include "base/error.h"
#include "train/prepare.h"

namespace cairn {
namespace {

namespace fs = std::filesystem;

constexpr uintmax_t kMostBytes = kMiB;

bool looks_like_json(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{';
}

// Both alphabets, with or without padding; none if it is not base64.
std::optional<std::string> base64_decoded(std::string_view text) {
  std::string decoded;
  uint32_t bits = 0;
  int count = 0;
  while (!text.empty() && text.back() == '=') text.remove_suffix(1);
  for (char c : text) {
    uint32_t digit = 0;
    if (c >= 'A' && c <= 'Z')
      digit = static_cast<uint32_t>(c - 'A');
    else if (c >= 'a' && c <= 'z')
      digit = static_cast<uint32_t>(c - 'a') + 26;
    else if (c >= '0' && c <= '9')
      digit = static_cast<uint32_t>(c - '0') + 52;
    else if (c == '+' || c == '-')
      digit = 62;
    else if (c == '/' || c == '_')
      digit = 63;
    else
      return std::nullopt;
    bits = bits << 6 | digit;
    count += 6;
    if (count < 8) continue;
    count -= 8;
    decoded += static_cast<char>(bits >> count & 0xff);
  }
  return decoded;
}

std::string text_of_file(const fs::path& path) {
  std::error_code failed;
  const uintmax_t bytes = fs::file_size(path, failed);
  if (!failed && bytes > kMostBytes)
    throw UserError(
        fmt::format("deepspeed: '{}' has {}, more than the {} that a DeepSpeed "
                    "configuration may have; give the path of its JSON file",
                    path.string(), format_bytes(static_cast<int64_t>(bytes)),
                    format_bytes(static_cast<int64_t>(kMostBytes))));
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!failed && file) text << file.rdbuf();
  if (failed || !file)
    throw UserError(
        fmt::format("deepspeed: '{}' cannot be read; give the path of a JSON file", path.string()));
  return text.str();
}

nlohmann::ordered_json json_of(const Given& given) {
  using Json = nlohmann::ordered_json;
  switch (given.kind) {
    case Given::Kind::null:
      return nullptr;
    case Given::Kind::sequence: {
      Json list = Json::array();
      for (const Given& item : given.items) list.push_back(json_of(item));
      return list;
    }
    case Given::Kind::mapping: {
      Json object = Json::object();
      for (const auto& [name, member] : given.members) object[name] = json_of(member);
      return object;
    }
    case Given::Kind::scalar:
      break;
  }
  // Numbers and truth values stay what they are.
  const bool literal = given.text == "true" || given.text == "false" ||
                       given.text.find_first_not_of("0123456789+-.eE") == std::string::npos;
  if (literal && Json::accept(given.text)) return Json::parse(given.text);
  return given.text;
}

}  // namespace

DeepspeedSource read_deepspeed_source(const std::string& given, const fs::path& recipe_folder) {
  if (looks_like_json(given)) return {given, "the JSON of deepspeed"};
  const std::optional<std::string> decoded = base64_decoded(given);
  if (decoded && looks_like_json(*decoded)) return {*decoded, "the base64 of deepspeed"};
  std::error_code ignored;
  const fs::path path = find_path(given, recipe_folder);
  if (fs::exists(path, ignored)) return {text_of_file(path), path.string()};
  throw UserError(
      fmt::format("deepspeed: '{}' is not a file, and neither JSON nor base64 of it; give the path "
                  "of a DeepSpeed configuration, such as examples/deepspeed/ds_z3_config.json",
                  given));
}

std::string json_text_of(const Given& mapping) { return json_of(mapping).dump(); }

}  // namespace cairn
