#include "files/sharded.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/error.h"
#include "files/folder_entries.h"
#include "files/json_file.h"

namespace cairn {
namespace {

namespace fs = std::filesystem;
using WeightMap = std::map<std::string, std::string>;  // tensor -> shard

constexpr std::string_view kWhole = "model.safetensors";
constexpr std::string_view kIndex = "model.safetensors.index.json";

// "a, b, c and 4 more".
std::string list_some(const std::vector<std::string>& names) {
  constexpr size_t kShown = 5;
  std::string text;
  for (size_t at = 0; at < std::min(names.size(), kShown); ++at)
    text += (at ? ", " : "") + names[at];
  if (names.size() > kShown) text += fmt::format(" and {} more", names.size() - kShown);
  return text;
}

// A shard lies beside its index: a name that leads elsewhere is not followed.
void require_plain_name(const std::string& shard, const std::string& index) {
  constexpr size_t kLongestName = 255;  // that file systems take
  const bool plain = !shard.empty() && shard.size() <= kLongestName &&
                     shard.find('/') == std::string::npos && shard != "." && shard != ".." &&
                     shard.find('\0') == std::string::npos && shard.ends_with(".safetensors");
  if (!plain)
    throw DamagedFile(
        fmt::format("{} names \"{}\" as a shard, where the plain name of a .safetensors "
                    "file beside it was expected.",
                    index, shard));
}

WeightMap read_weight_map(const std::string& index) {
  const nlohmann::json content = read_json_object(index);
  const auto found = content.find("weight_map");
  if (found == content.end() || !found->is_object() || found->empty())
    throw DamagedFile(fmt::format("{} has no weight_map from tensors to shards.", index));
  WeightMap map;
  for (const auto& [tensor, shard] : found->items()) {
    if (!shard.is_string())
      throw DamagedFile(
          fmt::format("{} maps tensor {} to a JSON {}, where the name of a shard was "
                      "expected.",
                      index, tensor, shard.type_name()));
    require_plain_name(shard.get<std::string>(), index);
    map.emplace(tensor, shard.get<std::string>());
  }
  return map;
}

std::vector<std::string> shards_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const fs::path& entry : folder_entries(folder)) {
    const std::string name = entry.filename().string();
    if (!shard_prefix_of(name).empty()) names.push_back(name);
  }
  return names;
}

void require_all_present(const std::set<std::string>& shards, const fs::path& folder,
                         const std::string& index) {
  std::vector<std::string> missing;
  for (const std::string& shard : shards)
    if (!is_there(folder / shard)) missing.push_back(shard);
  if (!missing.empty())
    throw DamagedFile(
        fmt::format("{} names {} shards, of which {} are missing beside it: {}: download "
                    "them.",
                    index, shards.size(), missing.size(), list_some(missing)));
}

// Numbered shards of the same set that the index does not name: an index of another download.
void require_all_named(const std::set<std::string>& shards, const fs::path& folder,
                       const std::string& index) {
  std::set<std::string_view> prefixes;
  for (const std::string& shard : shards) prefixes.insert(shard_prefix_of(shard));
  std::vector<std::string> strangers;
  for (const std::string& name : shards_in(folder))
    if (!shards.contains(name) && prefixes.contains(shard_prefix_of(name)))
      strangers.push_back(name);
  if (!strangers.empty())
    throw DamagedFile(
        fmt::format("{} does not name {} of the shards beside it: {}: index and shards "
                    "must come from one download.",
                    index, strangers.size(), list_some(strangers)));
}

void require_agreement(const SafetensorsFile& shard, const std::string& shard_name,
                       const WeightMap& map, const std::string& index) {
  std::vector<std::string> lacking, unnamed;
  for (const auto& [tensor, owner] : map)
    if (owner == shard_name && !shard.find(tensor)) lacking.push_back(tensor);
  if (!lacking.empty())
    throw DamagedFile(
        fmt::format("{} lacks {} tensors that {} places in it: {}: index and "
                    "shards must come from one download.",
                    shard.path(), lacking.size(), index, list_some(lacking)));
  for (const TensorInfo& info : shard.tensors()) {
    const auto found = map.find(info.name);
    if (found == map.end() || found->second != shard_name) unnamed.push_back(info.name);
  }
  if (!unnamed.empty())
    throw DamagedFile(
        fmt::format("{} holds {} tensors that are not in {} as its own: {}: index "
                    "and shards must come from one download.",
                    shard.path(), unnamed.size(), index, list_some(unnamed)));
}

[[noreturn]] void refuse_folder(const fs::path& folder) {
  const std::vector<std::string> shards = shards_in(folder);
  if (!shards.empty())
    throw DamagedFile(fmt::format("{} holds shards ({}) but not their {}: download it too.",
                                  folder.string(), list_some(shards), kIndex));
  std::vector<std::string> others;
  for (const fs::path& entry : folder_entries(folder)) {
    const std::string extension = entry.extension().string();
    for (std::string_view known :
         {".bin", ".pt", ".pth", ".h5", ".msgpack", ".onnx", ".safetensors"})
      if (extension == known) others.push_back(entry.filename().string());
  }
  throw UserError(fmt::format(
      "{} holds no weights: expected model.safetensors, or {} and its shards{}.", folder.string(),
      kIndex,
      others.empty()
          ? std::string(", or a .gguf file")
          : "; it has only " + list_some(others) + ", which Cairn does not read as a model"));
}

}  // namespace

std::string_view shard_prefix_of(std::string_view name) {
  constexpr std::string_view kPattern = "-#####-of-#####.safetensors";
  if (name.size() <= kPattern.size()) return {};
  const std::string_view tail = name.substr(name.size() - kPattern.size());
  for (size_t at = 0; at < tail.size(); ++at) {
    const bool digit = tail[at] >= '0' && tail[at] <= '9';
    if (kPattern[at] == '#' ? !digit : tail[at] != kPattern[at]) return {};
  }
  return name.substr(0, name.size() - kPattern.size());
}

ShardedSource::ShardedSource(const std::string& index) : path_(index) {
  const fs::path folder = fs::path(index).parent_path();
  const WeightMap map = read_weight_map(index);
  std::set<std::string> names;
  for (const auto& [tensor, shard] : map) names.insert(shard);
  require_all_present(names, folder, index);
  require_all_named(names, folder, index);
  // Every header against its file's size first: a shard cut short is the commonest damage.
  for (const std::string& name : names)
    shards_.push_back(std::make_unique<SafetensorsFile>((folder / name).string()));
  size_t shard = 0;
  for (const std::string& name : names) {
    require_agreement(*shards_[shard], name, map, index);
    for (TensorInfo info : shards_[shard]->tensors()) {
      info.file = static_cast<int>(shard);
      tensors_.push_back(std::move(info));
    }
    ++shard;
  }
}

void ShardedSource::read_rows(const TensorInfo& info, int64_t first_row, int64_t row_count,
                              View out, std::span<std::byte> scratch) const {
  shard_of(info).read_rows(info, first_row, row_count, out, scratch);
}

void ShardedSource::read_bytes(const TensorInfo& info, int64_t begin,
                               std::span<std::byte> out) const {
  shard_of(info).read_bytes(info, begin, out);
}

const SafetensorsFile& ShardedSource::shard_of(const TensorInfo& info) const {
  CAIRN_CHECK(info.file >= 0 && static_cast<size_t>(info.file) < shards_.size(),
              "[shard_of] wanted a tensor of {}, got {} of file {}", path_, info.name, info.file);
  return *shards_[static_cast<size_t>(info.file)];
}

std::unique_ptr<TensorSource> open_folder_weights(const std::string& folder) {
  const fs::path root(folder);
  std::unique_ptr<TensorSource> source;
  if (is_there(root / kWhole))
    source = std::make_unique<SafetensorsFile>((root / kWhole).string());
  else if (is_there(root / kIndex))
    source = std::make_unique<ShardedSource>((root / kIndex).string());
  else
    refuse_folder(root);
  if (source->tensors().empty())
    throw DamagedFile(
        fmt::format("{} is a valid file with no tensors in it: these are not the model's "
                    "weights.",
                    source->path()));
  require_readable_types(*source);
  return source;
}

void require_readable_types(const TensorSource& source) {
  std::map<std::string_view, int64_t> counts;
  for (const TensorInfo& info : source.tensors()) {
    if (is_readable(info.type)) continue;
    // Buffers of integers may lie beside weights, and codes of 4 bits beside what they stand for.
    const bool is_weight = info.name.ends_with(".weight");
    const bool is_coded = is_weight && (source.find(info.name + ".quant_state.bitsandbytes__nf4") ||
                                        source.find(info.name + ".quant_state.bitsandbytes__fp4"));
    if (!is_integer(info.type) || (is_weight && !is_coded)) ++counts[name_of(info.type)];
  }
  if (counts.empty()) return;
  std::string text;
  for (const auto& [type, count] : counts)
    text += fmt::format("{}{} ({} tensors)", text.empty() ? "" : ", ", type, count);
  throw UserError(
      fmt::format("{} stores tensors as {}, which Cairn does not read: it reads F32, F16, BF16 "
                  "and F64, and from GGUF also Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q4_K, Q5_K and Q6_K.",
                  source.path(), text));
}

}  // namespace cairn
