// The tensors of a GGUF under Hugging Face names. Rows of q and k that the converter interleaved
// are put back where transformers has them when they are read, and the 1 that it added to Gemma's
// norms is taken off.
#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <utility>

#include "base/error.h"
#include "files/gguf_architecture.h"
#include "files/gguf_model.h"
#include "files/gguf_rope.h"
#include "files/sharded.h"
#include "files/tensor_reader.h"

namespace cairn {
namespace {

using NamePair = std::pair<std::string_view, std::string_view>;

constexpr std::array kModelNames = {
    NamePair{"token_embd.weight", "model.embed_tokens.weight"},
    NamePair{"output_norm.weight", "model.norm.weight"},
    NamePair{"output.weight", "lm_head.weight"},
};

// Of a block; ".weight" or ".bias" follows.
constexpr std::array kBlockNames = {
    NamePair{"attn_norm", "input_layernorm"},    NamePair{"attn_q", "self_attn.q_proj"},
    NamePair{"attn_k", "self_attn.k_proj"},      NamePair{"attn_v", "self_attn.v_proj"},
    NamePair{"attn_output", "self_attn.o_proj"}, NamePair{"attn_q_norm", "self_attn.q_norm"},
    NamePair{"attn_k_norm", "self_attn.k_norm"}, NamePair{"ffn_norm", "post_attention_layernorm"},
    NamePair{"ffn_gate", "mlp.gate_proj"},       NamePair{"ffn_up", "mlp.up_proj"},
    NamePair{"ffn_down", "mlp.down_proj"},
};

// What Gemma has in their place or beside them, and Phi-3.
constexpr std::array kGemmaNames = {
    NamePair{"ffn_norm", "pre_feedforward_layernorm"},
    NamePair{"post_attention_norm", "post_attention_layernorm"},
    NamePair{"post_ffw_norm", "post_feedforward_layernorm"},
};
constexpr std::array kFusedNames = {
    NamePair{"attn_qkv", "self_attn.qkv_proj"},
    NamePair{"ffn_up", "mlp.gate_up_proj"},
};

// "blk.7.attn_q.weight" -> {7, "attn_q", ".weight"}.
struct BlockName {
  int64_t block;
  std::string_view part;
  std::string_view suffix;
};

std::optional<BlockName> split_block_name(std::string_view name) {
  constexpr std::string_view kStart = "blk.";
  if (!name.starts_with(kStart)) return std::nullopt;
  name.remove_prefix(kStart.size());
  const size_t dot = name.find('.');
  const size_t last = name.rfind('.');
  if (dot == std::string_view::npos || last == dot) return std::nullopt;
  int64_t block = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + dot, block);
  if (error != std::errc() || end != name.data() + dot || block < 0) return std::nullopt;
  return BlockName{block, name.substr(dot + 1, last - dot - 1), name.substr(last)};
}

template <typename Names>
std::optional<std::string_view> look_up(const Names& names, std::string_view part) {
  for (const auto& [gguf, hf] : names)
    if (gguf == part) return hf;
  return std::nullopt;
}

std::optional<std::string_view> hugging_face_part(std::string_view part,
                                                  const GgufArchitecture& architecture) {
  if (architecture.gemma)
    if (const auto name = look_up(kGemmaNames, part)) return name;
  if (architecture.fused)
    if (const auto name = look_up(kFusedNames, part)) return name;
  return look_up(kBlockNames, part);
}

std::optional<std::string> hugging_face_name(std::string_view name, int64_t num_blocks,
                                             const GgufArchitecture& architecture) {
  if (const auto found = look_up(kModelNames, name)) return std::string(*found);
  const auto block = split_block_name(name);
  if (!block || block->block >= num_blocks ||
      (block->suffix != ".weight" && block->suffix != ".bias"))
    return std::nullopt;
  const auto part = hugging_face_part(block->part, architecture);
  if (!part) return std::nullopt;
  return fmt::format("model.layers.{}.{}{}", block->block, *part, block->suffix);
}

class GgufSource : public TensorSource {
 public:
  explicit GgufSource(GgufFile gguf) : gguf_(std::move(gguf)) {
    const GgufArchitecture& architecture = architecture_of(gguf_);
    const nlohmann::json config = make_gguf_config(gguf_);
    const auto num_blocks = config["num_hidden_layers"].get<int64_t>();
    for (const TensorInfo& found : gguf_.tensors()) {
      if (is_gguf_rope_tensor(found.name)) continue;  // told in the config
      const auto name = hugging_face_name(found.name, num_blocks, architecture);
      if (!name) refuse_name(found.name, architecture.name);
      TensorInfo info = found;
      info.name = *name;
      if (architecture.interleaved) info.interleaved_heads = heads_of(info, config);
      if (architecture.gemma && found.name.ends_with("norm.weight")) info.shift = -1;
      tensors_.push_back(std::move(info));
    }
    if (tensors_.empty())
      throw DamagedFile(
          fmt::format("{} is a valid GGUF with no tensors in it (a vocabulary only?): these "
                      "are not a model's weights.",
                      gguf_.path()));
  }

  const std::vector<TensorInfo>& tensors() const override { return tensors_; }
  const std::string& path() const override { return gguf_.path(); }
  void read_rows(const TensorInfo& info, int64_t first_row, int64_t row_count, View out,
                 std::span<std::byte> scratch) const override {
    read_tensor_rows(gguf_.file(info.file), info, first_row, row_count, out, scratch);
  }

 private:
  [[noreturn]] void refuse_name(const std::string& name, std::string_view architecture) const {
    throw UserError(
        fmt::format("{} holds a tensor {}, which is no part of a {} model that Cairn trains.",
                    gguf_.path(), name, architecture));
  }

  // The heads whose rows lie interleaved; 0 for tensors that were left alone.
  int heads_of(const TensorInfo& info, const nlohmann::json& config) const {
    const bool query = info.name.find(".self_attn.q_proj.") != std::string::npos;
    const bool key = info.name.find(".self_attn.k_proj.") != std::string::npos;
    if (!query && !key) return 0;
    const auto heads = config[query ? "num_attention_heads" : "num_key_value_heads"].get<int64_t>();
    const auto head_dim = config["head_dim"].get<int64_t>();
    if (info.rows() != heads * head_dim ||
        info.shape.row_elements() % block_elements(info.type) != 0)
      throw DamagedFile(fmt::format("{} has {} as {}, where {} heads of {} rows were expected.",
                                    gguf_.path(), info.name, info.shape.to_string(), heads,
                                    head_dim));
    return static_cast<int>(heads);
  }

  GgufFile gguf_;
  std::vector<TensorInfo> tensors_;
};

}  // namespace

std::unique_ptr<TensorSource> make_gguf_weights(GgufFile gguf) {
  auto source = std::make_unique<GgufSource>(std::move(gguf));
  require_readable_types(*source);
  return source;
}

}  // namespace cairn
