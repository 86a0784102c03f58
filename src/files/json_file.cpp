#include "files/json_file.h"

#include <span>

#include "base/bytes.h"
#include "base/error.h"
#include "files/atomic_file.h"
#include "files/file_kind.h"
#include "files/input_file.h"

namespace cairn {
namespace {

// Parsed, JSON of the worst kind takes twenty times its size; the largest tokenizers have 35 MiB.
constexpr int64_t kMaxJsonBytes = 128 * kMiB;

}  // namespace

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

int64_t integer_of(const nlohmann::json& value) {
  const bool is_too_large = value.is_number_unsigned() && value.get<uint64_t>() > INT64_MAX;
  if (!value.is_number_integer() || is_too_large)
    throw nlohmann::json::type_error::create(302, "wanted an integer, got " + value.dump(), &value);
  return value.get<int64_t>();
}

void write_json(const std::string& path, const nlohmann::json& value) {
  write_text(path, value.dump(2) + "\n");
}

}  // namespace cairn
