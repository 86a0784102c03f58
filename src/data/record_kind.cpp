#include "data/record_kind.h"

#include "base/error.h"
#include "data/utf8.h"
#include "files/file_kind.h"

namespace cairn {
namespace {

constexpr std::string_view kWanted =
    "wanted a .json array of records, a .jsonl file with one record a line, or a .csv or .txt file";

// Whether that may begin a text. A head may end inside of a character.
bool is_text(std::string_view head) {
  while (!head.empty()) {
    const CodePoint point = first_code_point(head);
    if (!point.valid) return point.bytes == head.size();
    if (point.value == 0x7f || (point.value < 0x20 && !is_white_space(point.value))) return false;
    head.remove_prefix(point.bytes);
  }
  return true;
}

void refuse(const std::filesystem::path& path, const FileKind& kind) {
  if (kind.is_whole)
    throw UserError(fmt::format("{} is {}, not UTF-8 text; {}: unpack it or convert it",
                                path.string(), kind.name, kWanted));
  throw DamagedFile(
      fmt::format("{} is {}, not rows; {}: download it again", path.string(), kind.name, kWanted));
}

}  // namespace

void refuse_other_kinds(const std::filesystem::path& path, std::string_view head) {
  if (const auto kind = kind_of(head)) refuse(path, *kind);
}

void refuse_bytes(const std::filesystem::path& path, std::string_view head) {
  const auto kind = kind_of(head);
  if (!kind || head.find('<') == 0) return;
  if (!kind->is_whole || !is_text(head)) refuse(path, *kind);
}

}  // namespace cairn
