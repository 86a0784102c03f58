#include "files/checkpoint_manifest.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/error.h"
#include "files/checksum.h"
#include "files/json_file.h"

namespace cairn {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kVersion = 1;

nlohmann::json manifest_of(const std::string& folder) {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  nlohmann::json files = nlohmann::json::array();
  for (const std::string& name : names) {
    const std::string path = folder + "/" + name;
    files.push_back({{"name", name},
                     {"bytes", static_cast<int64_t>(fs::file_size(path))},
                     {"xxh3", checksum_of_file(path)}});
  }
  nlohmann::json manifest = {
      {"format", "cairn checkpoint"}, {"version", kVersion}, {"files", files}};
  // A manifest that was changed must be found out too.
  manifest["xxh3"] = checksum_of(manifest.dump());
  return manifest;
}

// The manifest, and its own checksum.
std::pair<nlohmann::json, std::string> read_manifest_with_sum(const std::string& folder) {
  const std::string path = folder + "/" + std::string(kManifest);
  std::error_code error;
  if (!fs::exists(path, error))
    throw UserError(fmt::format(
        "{} is no checkpoint that Cairn wrote: it has no {}; give a folder checkpoint-N of an "
        "output_dir.",
        folder, kManifest));
  nlohmann::json manifest;
  try {
    manifest = read_json_object(path);
  } catch (const std::runtime_error&) {
    throw DamagedFile(fmt::format("{} is not what Cairn wrote there: it is no JSON object.", path));
  }
  const auto sum = manifest.find("xxh3");
  if (sum == manifest.end() || !sum->is_string())
    throw DamagedFile(fmt::format("{} has no checksum of its own.", path));
  const std::string said = sum->get<std::string>();
  manifest.erase("xxh3");
  if (checksum_of(manifest.dump()) != said)
    throw DamagedFile(fmt::format("{} was changed: its checksum does not hold.", path));
  if (manifest.value("format", "") != "cairn checkpoint" ||
      manifest.value("version", nlohmann::json()) != nlohmann::json(kVersion))
    throw UserError(
        fmt::format("{} is of another version of Cairn: resume with the one that wrote it.", path));
  return {manifest, said};
}

void check_file(const std::string& folder, const nlohmann::json& file) {
  const std::string path = folder + "/" + file.at("name").get<std::string>();
  const int64_t wanted = integer_of(file.at("bytes"));
  std::error_code error;
  const auto found = fs::file_size(path, error);
  if (error) throw DamagedFile(fmt::format("{} is missing from its checkpoint.", path));
  if (static_cast<int64_t>(found) != wanted)
    throw DamagedFile(fmt::format("{} has {} bytes where its checkpoint was written with {}.", path,
                                  found, wanted));
  if (checksum_of_file(path) != file.at("xxh3").get<std::string>())
    throw DamagedFile(
        fmt::format("{} was changed since it was written: its checksum does not hold.", path));
}

}  // namespace

void write_manifest(const std::string& folder) {
  write_json(folder + "/" + std::string(kManifest), manifest_of(folder));
}

std::string checksum_of_checkpoint(const std::string& path) {
  return read_manifest_with_sum(path).second;
}

std::vector<std::string> check_checkpoint(const std::string& path) try {
  const nlohmann::json manifest = read_manifest_with_sum(path).first;
  std::vector<std::string> names;
  for (const nlohmann::json& file : manifest.at("files")) {
    check_file(path, file);
    names.push_back(file.at("name").get<std::string>());
  }
  return names;
} catch (const nlohmann::json::exception&) {
  throw DamagedFile(fmt::format("{}/{} does not list files as Cairn does.", path, kManifest));
}

}  // namespace cairn
