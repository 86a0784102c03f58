#include "data/record_kind.h"

#include "base/error.h"
#include "files/file_kind.h"

namespace cairn {
namespace {

constexpr std::string_view kWanted =
    "wanted a .json array of records, a .jsonl file with one record a line, or a .csv or .txt file";

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
  if (kind && head.find('<') != 0) refuse(path, *kind);
}

}  // namespace cairn
