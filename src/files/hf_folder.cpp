#include "files/hf_folder.h"

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "files/json_file.h"
#include "files/output_folder.h"
#include "files/quantised_modules.h"

namespace cairn {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

json special_tokens_of(const json& tokenizer_config) {
  json map = json::object();
  for (const char* name : {"bos_token", "eos_token", "unk_token", "pad_token"})
    if (tokenizer_config.contains(name) && tokenizer_config[name].is_string())
      map[name] = tokenizer_config[name];
  return map;
}

// What the exported folder holds: weights, in bf16; buffers of integers are made anew by
// transformers, and a tied head is the embedding.
std::vector<const TensorInfo*> exported_tensors(const ModelFiles& model) {
  const auto found = model.config.find("tie_word_embeddings");
  const bool tied = found != model.config.end() && found->is_boolean() && found->get<bool>();
  std::vector<const TensorInfo*> tensors;
  for (const TensorInfo& info : model.weights->tensors())
    if (is_readable(info.type) && !(tied && info.name == "lm_head.weight"))
      tensors.push_back(&info);
  if (tensors.empty())
    throw DamagedFile(fmt::format("{} holds no weights to export.", model.weights->path()));
  return tensors;
}

void write_weights(const ModelFiles& model, const std::string& folder,
                   std::span<std::byte> scratch) {
  const std::vector<const TensorInfo*> tensors = exported_tensors(model);
  std::vector<TensorSpec> specs;
  for (const TensorInfo* info : tensors) specs.push_back({info->name, FileType::bf16, info->shape});
  HfWeightsWriter writer(folder, std::move(specs));
  // Half of the scratch holds what is read, half serves the reader.
  const size_t half = scratch.size() / 2 / 64 * 64;
  const auto piece_bytes = static_cast<int64_t>(half);
  for (const TensorInfo* info : tensors) {
    const int64_t row_elements = info->shape.row_elements();
    const int64_t row_bytes = std::max<int64_t>(row_elements * size_of(DType::bf16), 1);
    // Whole blocks also where a row is one element.
    const int64_t step =
        row_elements % block_elements(info->type) == 0 ? 1 : block_elements(info->type);
    const int64_t rows_of_piece = piece_bytes / row_bytes / step * step;
    if (rows_of_piece == 0)
      throw UserError(fmt::format("{} has rows of {} bytes, more than the export's scratch of {}.",
                                  info->name, row_bytes, half));
    for (int64_t row = 0; row < info->rows(); row += rows_of_piece) {
      const int64_t rows = std::min(rows_of_piece, info->rows() - row);
      const View piece(scratch.data(), DType::bf16, {rows * row_elements});
      model.weights->read_rows(*info, row, rows, piece, scratch.subspan(half));
      writer.append(info->name, {piece.data(), static_cast<size_t>(piece.bytes())});
    }
  }
  writer.finish();
}

}  // namespace

std::vector<std::string_view> model_file_names() {
  return {"model.safetensors",
          "model.safetensors.index.json",
          "config.json",
          "generation_config.json",
          "tokenizer.json",
          "tokenizer_config.json",
          "special_tokens_map.json"};
}

void write_model_json(const ModelFiles& model, nlohmann::json config, DType storage,
                      const std::string& folder) {
  const fs::path root(folder);
  if (!model.tokenizer.is_null()) write_json((root / "tokenizer.json").string(), model.tokenizer);
  if (!model.tokenizer_config.is_null()) {
    write_json((root / "tokenizer_config.json").string(), model.tokenizer_config);
    write_json((root / "special_tokens_map.json").string(),
               special_tokens_of(model.tokenizer_config));
  }
  if (!model.generation_config.is_null())
    write_json((root / "generation_config.json").string(), model.generation_config);
  config["torch_dtype"] = storage == DType::bf16 ? "bfloat16" : "float32";
  config.erase("dtype");
  write_json((root / "config.json").string(), config);
}

void export_hf_folder(const ModelFiles& model, const std::string& folder,
                      std::span<std::byte> scratch) {
  CAIRN_CHECK(static_cast<int64_t>(scratch.size()) >= 4 * kLeastReadScratchBytes,
              "[export_hf_folder] wanted {} bytes of scratch, got {}", 4 * kLeastReadScratchBytes,
              scratch.size());
  if (!find_quantised_modules(*model.weights).empty())
    throw UserError(
        fmt::format("{} is quantised to 4 bits, and transformers loads it as it is; export starts "
                    "from weights in F32, F16 or BF16",
                    model.path));
  make_folder(folder);
  write_weights(model, folder, scratch);
  write_model_json(model, model.config, DType::bf16, folder);
}

}  // namespace cairn
