// The weights of a Hugging Face folder: model.safetensors, or an index and its shards. Index and
// shards are held against each other both ways before the first byte of a weight is read.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "files/safetensors.h"
#include "files/tensor_source.h"

namespace cairn {

// Several safetensors files as one source.
class ShardedSource : public TensorSource {
 public:
  // `index`: the path of a model.safetensors.index.json. Throws DamagedFile, with one sentence for
  // each of: a shard is missing, a shard lacks a tensor of the index, a tensor or shard is not in
  // the index.
  explicit ShardedSource(const std::string& index);

  const std::vector<TensorInfo>& tensors() const override { return tensors_; }
  const std::string& path() const override { return path_; }
  void read_rows(const TensorInfo& info, int64_t first_row, int64_t row_count, View out,
                 std::span<std::byte> scratch) const override;
  void read_bytes(const TensorInfo& info, int64_t begin, std::span<std::byte> out) const override;

 private:
  const SafetensorsFile& shard_of(const TensorInfo& info) const;

  std::string path_;  // of the index
  std::vector<std::unique_ptr<SafetensorsFile>> shards_;
  std::vector<TensorInfo> tensors_;  // shard by shard
};

// "model" of model-00002-of-00005.safetensors; empty for any other name.
std::string_view shard_prefix_of(std::string_view name);

// Whatever weights the folder has. Throws UserError when it has none that Cairn reads (and names
// those it cannot), DamagedFile when there are no tensors at all.
std::unique_ptr<TensorSource> open_folder_weights(const std::string& folder);

// Throws UserError that counts the tensors by type, when some cannot be read as f32 or bf16.
// Buffers of integers may lie beside weights.
void require_readable_types(const TensorSource& source);

}  // namespace cairn
