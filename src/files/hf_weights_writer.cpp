// The weights of a Hugging Face folder: one file, or shards of bounded size and their index.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/error.h"
#include "files/hf_folder.h"
#include "files/json_file.h"

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
  return name == kWhole || name == kIndex ||
         (name.starts_with("model-") && name.find("-of-") != std::string_view::npos &&
          name.ends_with(".safetensors"));
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

void HfWeightsWriter::finish() {
  for (const Shard& shard : shards_) shard.writer->finish();
  if (shards_.size() > 1) write_index();
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
  std::vector<fs::path> stale;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_)) {
    const std::string name = entry.path().filename().string();
    if (is_weights_file(name) && !written.contains(name)) stale.push_back(entry.path());
  }
  for (const fs::path& path : stale) fs::remove(path);
}

}  // namespace cairn
