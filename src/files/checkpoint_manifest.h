// The manifest of a checkpoint folder: every file with its size and checksum, and a checksum of
// itself. What is not whole by it is no checkpoint.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cairn {

inline constexpr std::string_view kManifest = "checkpoint.json";

// Reads every file of the folder for its checksum, and writes the manifest last.
void write_manifest(const std::string& folder);

// The file names of a manifest's list whose sizes and checksums hold. Throws DamagedFile naming the
// file that is missing, of another size or of other bytes, UserError if the folder is no checkpoint
// that Cairn wrote.
std::vector<std::string> check_checkpoint(const std::string& path);

// What tells this checkpoint from any other, in 16 digits. Throws as check_checkpoint does.
std::string checksum_of_checkpoint(const std::string& path);

}  // namespace cairn
