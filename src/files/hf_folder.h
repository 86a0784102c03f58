// Writing a model as a Hugging Face folder that transformers loads: weights in shards with an
// index, and the JSON files beside them. Every file appears whole; config.json comes last.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "files/model_files.h"
#include "files/safetensors.h"

namespace cairn {

// transformers' own limit on one file: 5 GB.
inline constexpr int64_t kMaxShardBytes = 5'000'000'000;

// Weights as model.safetensors, or as shards with an index when they exceed `max_shard_bytes`. Disk
// for all of it is set aside first, and nothing appears under a final name before finish().
class HfWeightsWriter {
 public:
  // Tensors fill the shards in the order given.
  HfWeightsWriter(std::string folder, std::vector<TensorSpec> tensors,
                  int64_t max_shard_bytes = kMaxShardBytes);

  // The next bytes of a tensor. Tensors in any order, the pieces of one tensor in theirs.
  void append(std::string_view name, std::span<const std::byte> bytes);
  // Every tensor must be complete. Writes the index, and removes weights of an earlier, other set.
  void finish();

 private:
  struct Shard {
    std::string file;
    std::unique_ptr<SafetensorsWriter> writer;
  };
  void write_index();
  void remove_stale() const;

  std::string folder_;
  std::vector<Shard> shards_;
  std::unordered_map<std::string, size_t> shard_of_;
  int64_t total_bytes_ = 0;
};

// The files of such a folder, whichever of them a model has; shards of weights beside their index.
std::vector<std::string_view> model_file_names();

// config.json, generation_config.json, tokenizer.json, tokenizer_config.json,
// special_tokens_map.json, whichever the model has; config.json is `config`, of weights that are
// stored as `storage`. The folder must exist.
void write_model_json(const ModelFiles& model, nlohmann::json config, DType storage,
                      const std::string& folder);

// The whole model in bf16. `scratch` (kReadScratchBytes) is all the tensor memory it uses.
void export_hf_folder(const ModelFiles& model, const std::string& folder,
                      std::span<std::byte> scratch);

}  // namespace cairn
