#include "files/folder_entries.h"

#include <algorithm>

#include "base/error.h"

namespace cairn {
namespace {

namespace fs = std::filesystem;

fs::file_status status_of(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::status_known(status))
    throw UserError(fmt::format("{} cannot be opened ({}): check the path and its rights.",
                                path.string(), error.message()));
  return status;
}

}  // namespace

bool is_there(const fs::path& path) { return fs::exists(status_of(path)); }

bool is_folder(const fs::path& path) { return fs::is_directory(status_of(path)); }

std::vector<fs::path> folder_entries(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    entries.push_back(entry->path());
  if (error)
    throw UserError(fmt::format("the folder {} cannot be read ({}): check the path and its rights.",
                                folder.string(), error.message()));
  std::sort(entries.begin(), entries.end());
  return entries;
}

}  // namespace cairn
