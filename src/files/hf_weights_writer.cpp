// The weights of a Hugging Face folder: one file, or shards of bounded size and their index.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/error.h"
#include "files/folder_entries.h"
#include "files/hf_folder.h"
#include "files/json_file.h"
#include "files/sharded.h"

namespace cairn {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kWhole = "model.safetensors";
constexpr std::string_view kIndex = "model.safetensors.index.json";
const SafetensorsMetadata kMetadata = {{"format", "pt"}};  // transformers refuses files without it

int64_t bytes_of(const TensorSpec& spec) {
  return spec.shape.elements() / block_elements(spec.type) * block_bytes(spec.type);
}

bool is_weights_file(std::string_view name) {
  return name == kWhole || name == kIndex || shard_prefix_of(name) == "model";
}

void remove_file(const fs::path& path) {
  std::error_code error;
  fs::remove(path, error);
  if (error)
    throw DeviceError(fmt::format("{} could not be removed ({}).", path.string(), error.message()));
}

}  // namespace

HfWeightsWriter::HfWeightsWriter(std::string folder, std::vector<TensorSpec> tensors,
                                 int64_t max_shard_bytes)
    : folder_(std::move(folder)) {
  CAIRN_CHECK(!tensors.empty(), "[hf_weights_writer] wanted tensors, got {}", tensors.size());
  std::vector<std::vector<TensorSpec>> sets;
  int64_t filled = 0;
  for (TensorSpec& spec : tensors) {
    const int64_t bytes = bytes_of(spec);
    if (sets.empty() || filled + bytes > max_shard_bytes) {
      sets.emplace_back();
      filled = 0;
    }
    filled += bytes;
    total_bytes_ += bytes;
    shard_of_[spec.name] = sets.size() - 1;
    sets.back().push_back(std::move(spec));
  }
  for (size_t shard = 0; shard < sets.size(); ++shard) {
    std::string file =
        sets.size() == 1 ? std::string(kWhole)
                         : fmt::format("model-{:05}-of-{:05}.safetensors", shard + 1, sets.size());
    auto writer = std::make_unique<SafetensorsWriter>((fs::path(folder_) / file).string(),
                                                      std::move(sets[shard]), kMetadata);
    shards_.push_back({std::move(file), std::move(writer)});
  }
}

void HfWeightsWriter::append(std::string_view name, std::span<const std::byte> bytes) {
  const auto found = shard_of_.find(std::string(name));
  CAIRN_CHECK(found != shard_of_.end(), "[hf_weights_writer] wanted a tensor of the list, got {}",
              name);
  shards_[found->second].writer->append(name, bytes);
}

// A process that ends between two of these lines leaves the earlier weights, or weights that a
// reader refuses, never a mix: an index is gone before the first of its shards is replaced, a whole
// file, which a reader prefers, before the new index is there, and that comes last.
void HfWeightsWriter::finish() {
  const bool sharded = shards_.size() > 1;
  if (sharded) remove_file(fs::path(folder_) / kIndex);
  for (const Shard& shard : shards_) shard.writer->finish();
  if (sharded) {
    remove_file(fs::path(folder_) / kWhole);
    write_index();
  }
  remove_stale();
}

void HfWeightsWriter::write_index() {
  nlohmann::json index = {{"metadata", {{"total_size", total_bytes_}}}};
  for (const auto& [name, shard] : shard_of_) index["weight_map"][name] = shards_[shard].file;
  write_json((fs::path(folder_) / kIndex).string(), index);
}

// What an earlier export left would be loaded in place of this one, or held against it.
void HfWeightsWriter::remove_stale() const {
  std::set<std::string> written;
  for (const Shard& shard : shards_) written.insert(shard.file);
  if (shards_.size() > 1) written.insert(std::string(kIndex));
  for (const fs::path& path : folder_entries(folder_)) {
    const std::string name = path.filename().string();
    if (is_weights_file(name) && !written.contains(name)) remove_file(path);
  }
}

}  // namespace cairn
