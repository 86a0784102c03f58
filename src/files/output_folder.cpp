#include "files/output_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/error.h"
#include "files/folder_entries.h"
#include "files/sharded.h"

namespace cairn {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kIndexEnding = ".safetensors.index.json";

std::string lock_path(const std::string& folder) { return (fs::path(folder) / ".lock").string(); }

}  // namespace

bool FolderLock::was_held(const std::string& folder) {
  std::error_code error;
  return fs::exists(lock_path(folder), error);
}

FolderLock::FolderLock(const std::string& folder) {
  make_folder(folder);
  const std::string path = lock_path(folder);
  descriptor_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor_ < 0)
    throw UserError(fmt::format("{} cannot be written ({}): choose a folder that can be.", path,
                                std::strerror(errno)));
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
  ::close(descriptor_);
  throw UserError(fmt::format(
      "another run is writing to {} now: wait for its end or choose another folder.", folder));
}

FolderLock::~FolderLock() { ::close(descriptor_); }

void check_targets(const std::string& folder, const std::vector<std::string_view>& names,
                   bool may_replace, std::string_view permission) {
  const auto refuse_held = [&](std::string_view name) {
    throw UserError(fmt::format("{} already holds {}: choose another folder, or {} to replace it.",
                                folder, name, permission));
  };
  for (const std::string_view name : names) {
    const fs::path path = fs::path(folder) / name;
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (fs::is_directory(status))
      throw UserError(fmt::format("{} is a folder: a file is to be written there.", path.string()));
    if (fs::exists(status) && !may_replace) refuse_held(name);
    // The shards of an index are files of it, whether it is there or was never downloaded.
    if (!name.ends_with(kIndexEnding) || may_replace || !is_there(folder)) continue;
    const std::string_view prefix = name.substr(0, name.size() - kIndexEnding.size());
    for (const fs::path& entry : folder_entries(folder))
      if (const std::string held = entry.filename().string(); shard_prefix_of(held) == prefix)
        refuse_held(held);
  }
}

void make_folder(const std::string& folder) {
  std::error_code error;
  if (fs::exists(folder, error) && !fs::is_directory(folder, error))
    throw UserError(fmt::format("{} is a file: a folder is to be written there.", folder));
  fs::create_directories(folder, error);
  if (error)
    throw UserError(
        fmt::format("{} cannot be made a folder to write to ({}).", folder, error.message()));
}

bool is_same_place(const std::string& one, const std::string& other) {
  std::error_code error;
  return fs::equivalent(one, other, error) && !error;
}

}  // namespace cairn
