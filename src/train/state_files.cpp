#include "train/state_files.h"

#include <algorithm>
#include <filesystem>

#include "base/error.h"

namespace cairn {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kBegin = "states-", kEnd = ".safetensors";

// N of "states-00001-of-N.safetensors" in the folder.
int64_t ranks_of(const std::string& folder) {
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    const size_t of = name.find("-of-");
    if (!name.starts_with(kBegin) || !name.ends_with(kEnd) || of == std::string::npos) continue;
    const std::string count = name.substr(of + 4, name.size() - kEnd.size() - of - 4);
    if (!count.empty() && count.size() < 10 &&
        count.find_first_not_of("0123456789") == std::string::npos)
      return std::stoll(count);
  }
  throw UserError(fmt::format(
      "{} holds weights alone and no states of the optimizer (save_only_model: true, or made by "
      "another program), so no run can go on from it; give another checkpoint, or start anew in "
      "another output_dir",
      folder));
}

}  // namespace

std::string states_file_name(int64_t rank, int64_t ranks) {
  return fmt::format("{}{:05}-of-{:05}{}", kBegin, rank + 1, ranks, kEnd);
}

std::string section_name(std::string_view parameter, std::string_view state, int64_t first) {
  return first == 0 ? fmt::format("{}/{}", parameter, state)
                    : fmt::format("{}/{}@{}", parameter, state, first);
}

StateFiles::StateFiles(const std::string& folder) : folder_(folder) {
  const int64_t ranks = ranks_of(folder);
  for (int64_t rank = 0; rank < ranks; ++rank) {
    const std::string path = folder + "/" + states_file_name(rank, ranks);
    if (!fs::exists(path))
      throw DamagedFile(fmt::format("{} is missing from its checkpoint", path));
    add_file(path);
  }
  for (auto& [name, sections] : sections_) check_order(name, sections);
}

void StateFiles::add_file(const std::string& path) {
  const auto& file = files_.emplace_back(std::make_unique<SafetensorsFile>(path));
  for (const TensorInfo& tensor : file->tensors()) {
    std::string name = tensor.name;
    int64_t first = 0;
    const size_t at = name.rfind('@');
    if (at != std::string::npos && name.find('/', at) == std::string::npos) {
      const std::string number = name.substr(at + 1);
      if (number.empty() || number.size() > 18 ||
          number.find_first_not_of("0123456789") != std::string::npos)
        throw DamagedFile(fmt::format("{} holds '{}', which is no state of a run", path, name));
      first = std::stoll(number);
      name.resize(at);
    }
    sections_[name].push_back({file.get(), &tensor, first, first + tensor.shape.elements()});
  }
}

void StateFiles::check_order(const std::string& name, Sections& sections) const {
  std::sort(sections.begin(), sections.end(),
            [](const Section& a, const Section& b) { return a.first < b.first; });
  int64_t end = 0;
  for (const Section& section : sections) {
    if (section.first != end || section.tensor->type != sections[0].tensor->type)
      throw DamagedFile(
          fmt::format("{}: the stretches of '{}' do not follow one another, at element {}", folder_,
                      name, end));
    end = section.end;
  }
}

const StateFiles::Sections* StateFiles::find(const std::string& parameter,
                                             std::string_view state) const {
  const auto found = sections_.find(section_name(parameter, state, 0));
  return found == sections_.end() ? nullptr : &found->second;
}

std::optional<FileType> StateFiles::type_of(const std::string& parameter,
                                            std::string_view state) const {
  const Sections* sections = find(parameter, state);
  if (!sections) return std::nullopt;
  return sections->front().tensor->type;
}

int64_t StateFiles::elements_of(const std::string& parameter, std::string_view state) const {
  const Sections* sections = find(parameter, state);
  return sections ? sections->back().end : 0;
}

void StateFiles::read(const std::string& parameter, std::string_view state, int64_t first,
                      int64_t count, std::span<std::byte> out) const {
  const Sections* sections = find(parameter, state);
  CAIRN_CHECK(sections && first + count <= sections->back().end,
              "[state files] wanted elements within '{}/{}', got {} from {}", parameter, state,
              count, first);
  const int64_t size = block_bytes(sections->front().tensor->type);
  CAIRN_CHECK(static_cast<int64_t>(out.size()) == count * size,
              "[state files] wanted room for {} bytes, got {}", count * size, out.size());
  // The last section that begins at or before `first`.
  auto section = std::upper_bound(sections->begin(), sections->end(), first,
                                  [](int64_t at, const Section& s) { return at < s.first; });
  for (--section; count > 0; ++section) {
    const int64_t here = std::min(count, section->end - first);
    section->file->read_bytes(*section->tensor, (first - section->first) * size,
                              out.first(static_cast<size_t>(here * size)));
    out = out.subspan(static_cast<size_t>(here * size));
    first += here;
    count -= here;
  }
}

}  // namespace cairn
