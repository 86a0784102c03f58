// What lies at a path and in a folder, asked so that a failure is one sentence: a name that is too
// long, a symbolic link to itself, a folder that may not be read.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace cairn {

// Throws UserError when that cannot be known.
bool is_there(const std::filesystem::path& path);
bool is_folder(const std::filesystem::path& path);

// Everything in a folder, in the order of its names. Throws UserError when it cannot be read.
std::vector<std::filesystem::path> folder_entries(const std::filesystem::path& folder);

}  // namespace cairn
