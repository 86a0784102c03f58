#include "files/gguf_split.h"

#include <algorithm>

#include "base/error.h"
#include "files/folder_entries.h"

namespace cairn {
namespace {

constexpr int64_t kMostParts = 99999;

// A part tells its number from 0, and how many there are.
void check_part(const GgufFile& part, const SplitName& name, int64_t number) {
  if (part.count("split.no", 0) != number - 1 || part.count("split.count", 1) != name.count)
    throw DamagedFile(
        fmt::format("{} says that it is part {} of {}, where part {} of {} was expected: the files "
                    "must come from one download.",
                    part.path(), part.count("split.no", 0) + 1, part.count("split.count", 1),
                    number, name.count));
}

}  // namespace

std::string SplitName::of_part(int64_t number) const {
  return fmt::format("{}-{:05}-of-{:05}.gguf", prefix, number, count);
}

std::optional<SplitName> parse_split_name(const std::string& path) {
  constexpr std::string_view kPattern = "-#####-of-#####.gguf";
  if (path.size() <= kPattern.size()) return std::nullopt;
  const std::string_view tail = std::string_view(path).substr(path.size() - kPattern.size());
  int64_t numbers[2] = {0, 0};
  int digits = 0;
  for (size_t at = 0; at < tail.size(); ++at) {
    const bool digit = tail[at] >= '0' && tail[at] <= '9';
    if (kPattern[at] == '#' ? !digit : tail[at] != kPattern[at]) return std::nullopt;
    if (digit) {
      int64_t& number = numbers[digits++ / 5];
      number = 10 * number + (tail[at] - '0');
    }
  }
  if (numbers[0] < 1 || numbers[1] < numbers[0] || numbers[1] > kMostParts) return std::nullopt;
  return SplitName{path.substr(0, path.size() - kPattern.size()), numbers[0], numbers[1]};
}

std::optional<std::string> first_of_split(const std::vector<std::string>& paths) {
  if (paths.empty()) return std::nullopt;
  const auto name = parse_split_name(paths.front());
  if (!name || name->count != static_cast<int64_t>(paths.size())) return std::nullopt;
  for (int64_t number = 1; number <= name->count; ++number)
    if (std::find(paths.begin(), paths.end(), name->of_part(number)) == paths.end())
      return std::nullopt;
  return name->of_part(1);
}

GgufFile open_gguf_parts(const std::string& path) {
  GgufFile gguf(path);
  if (gguf.count("split.count", 1) <= 1) return gguf;
  const auto name = parse_split_name(path);
  if (!name)
    throw UserError(
        fmt::format("{} is one of {} parts of a split GGUF, whose names end in "
                    "-00001-of-{:05}.gguf: give the files the names they came with.",
                    path, gguf.count("split.count"), gguf.count("split.count")));
  if (name->part != 1)
    throw UserError(fmt::format("{} is part {} of {} of a split GGUF: give the first, {}.", path,
                                name->part, name->count, name->of_part(1)));
  check_part(gguf, *name, 1);
  for (int64_t number = 2; number <= name->count; ++number) {
    const std::string next = name->of_part(number);
    if (!is_there(next))
      throw DamagedFile(
          fmt::format("{} is the first of {} parts, but {} is not beside it: "
                      "download it too.",
                      path, name->count, next));
    GgufFile part(next);
    check_part(part, *name, number);
    gguf.append(std::move(part));
  }
  const auto found = static_cast<int64_t>(gguf.tensors().size());
  const int64_t wanted = gguf.count("split.tensors.count", found);
  if (found != wanted)
    throw DamagedFile(fmt::format(
        "{} and its parts hold {} tensors, where {} were expected: download them again.", path,
        found, wanted));
  return gguf;
}

}  // namespace cairn
