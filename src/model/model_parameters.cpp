// What a model is made of: its parameters, declared once in the order of the forward pass, under
// the names that Hugging Face and PEFT write.
#include <algorithm>

#include "base/error.h"
#include "model/model.h"

namespace cairn {
namespace {

using Names = std::vector<std::string>;

bool has(const Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// "all" becomes every product of the family.
void settle_targets(LoraSpec& lora, const Names& modules) {
  if (lora.targets.empty())
    throw UserError("lora_target names no module; 'all' takes every product");
  if (lora.targets == Names{"all"}) lora.targets = modules;
  for (const std::string& target : lora.targets)
    if (!has(modules, target))
      throw UserError(
          fmt::format("lora_target '{}' is no module of this model; choose among {} or 'all'",
                      target, fmt::join(modules, ", ")));
}

std::string module_of(const std::string& parameter) {
  for (const char* end : {".weight", ".bias"})
    if (parameter.ends_with(end)) return parameter.substr(0, parameter.rfind('.'));
  return parameter;
}

// LLaMA-Factory's rule.
bool is_norm(const Parameter& parameter) {
  return parameter.shape.rank() == 1 && (parameter.name.find("norm") != std::string::npos ||
                                         parameter.name.find("ln") != std::string::npos);
}

}  // namespace

void check_saved_beside(const Model& model) {
  if (!model.spec().lora) return;
  for (const std::string& end : model.spec().lora->modules_to_save)
    if (std::ranges::none_of(model.parameters(), [&](const Parameter& parameter) {
          return parameter.saved_beside && module_of(parameter.name).ends_with(end);
        }))
      throw UserError(
          fmt::format("additional_target '{}' is no module of this model; give the end of a "
                      "module's name, such as embed_tokens, lm_head or norm",
                      end));
}

Model::Model(const ModelSpec& spec) : spec_(spec) {
  const ModelConfig& config = spec_.config;
  if (spec_.lora) settle_targets(*spec_.lora, config.product_names());
  const bool has_frozen = spec_.lora || !spec_.trains;
  CAIRN_CHECK(!spec_.quantisation || has_frozen,
              "[model] wanted quantised weights to be frozen, got weights that are trained");
  CAIRN_CHECK(!spec_.streams_weights || has_frozen,
              "[model] wanted weights that stream to be frozen, got weights that are trained");
  embedding_ = declare("model.embed_tokens.weight", {config.vocab, config.hidden}, true);
  embedding_->embedding = true;
  for (int64_t i = 0; i < config.num_layers; ++i) {
    const size_t first = parameters_.size();
    blocks_.push_back(declare_block(i));
    for (size_t p = first; p < parameters_.size(); ++p) {
      Parameter& parameter = parameters_[p];
      parameter.unit = unit_of_block(static_cast<size_t>(i));
      if (parameter.trainable) blocks_.back().trained.push_back(&parameter);
      if (spec_.streams_weights && !parameter.trainable && !parameter.adapter)
        parameter.streamed_block = i;
    }
  }
  const size_t first_of_head = parameters_.size();
  declare_head();
  for (size_t p = first_of_head; p < parameters_.size(); ++p)
    parameters_[p].unit = head_unit(blocks_.size());
  if (embedding_->trainable) embedding_unit_.push_back(embedding_);
  for (Parameter* parameter : {head_.norm.weight, head_.vocabulary.weight})
    if (parameter != embedding_ && parameter->trainable) head_unit_.push_back(parameter);
}

void Model::declare_head() {
  const ModelConfig& config = spec_.config;
  head_.norm = declare_norm("model.norm", config.hidden);
  head_.softcap = config.logit_softcap;
  head_.chunk_rows = spec_.loss_chunk;
  head_.vocabulary.weight = embedding_;
  if (config.tied_embeddings && !spec_.parts_tied_head()) return;
  head_.vocabulary.weight = declare("lm_head.weight", {config.vocab, config.hidden}, true);
  if (config.tied_embeddings) head_.vocabulary.weight->starts_as = embedding_->name;
}

Parameter* Model::declare(std::string name, Shape shape, bool decays) {
  Parameter& parameter = parameters_.emplace_back();
  parameter.name = std::move(name);
  parameter.shape = shape;
  parameter.decays = decays;
  parameter.saved_beside = spec_.lora && spec_.lora->saves_beside(module_of(parameter.name));
  parameter.trainable = spec_.trains && (!spec_.lora || parameter.saved_beside);
  if (parameter.saved_beside && shape.rank() == 1)
    parameter.learning_rate_scale = spec_.lora->learning_rate_ratio;
  if (parameter.trainable || parameter.saved_beside)
    parameter.storage = trained_storage(spec_.precision);
  else
    parameter.storage =
        spec_.upcast_norms && is_norm(parameter) ? DType::f32 : spec_.frozen_storage;
  return &parameter;
}

RmsNorm Model::declare_norm(const std::string& module, int64_t width) {
  RmsNorm norm{declare(module + ".weight", {width}, false), spec_.config.rms_epsilon,
               spec_.config.norm_offset};
  norm.weight->vector_start = 1 - norm.offset;
  return norm;
}

Linear Model::declare_linear(const std::string& module, int64_t out, int64_t in, bool biased) {
  Linear linear;
  linear.weight = declare(module + ".weight", {out, in}, true);
  if (biased) {
    linear.bias = declare(module + ".bias", {out}, false);
    linear.bias->vector_start = 0;
  }
  if (quantises(module) && !linear.weight->saved_beside) linear.weight->storage = DType::u4;
  if (!spec_.lora) return linear;
  const LoraSpec& lora = *spec_.lora;
  const std::string kind = module.substr(module.rfind('.') + 1);
  if (!has(lora.targets, kind)) return linear;
  if (linear.weight->saved_beside)
    throw UserError(
        fmt::format("'{}' has a low-rank pair and is to be trained in full too; take it out of "
                    "lora_target or out of additional_target",
                    module));
  const auto declare_half = [&](const char* half, Shape shape) {
    Parameter* parameter = declare("base_model.model." + module + half, shape, true);
    parameter->adapter = true;
    parameter->trainable = spec_.trains;
    parameter->storage = trained_storage(spec_.precision);
    return parameter;
  };
  linear.lora_a = declare_half(".lora_A.weight", {lora.rank, in});
  linear.lora_b = declare_half(".lora_B.weight", {out, lora.rank});
  linear.lora_b->learning_rate_scale = lora.learning_rate_ratio;
  linear.dropout = static_cast<float>(lora.dropout);
  linear.dropout_stream = static_cast<uint32_t>(parameters_.size());
  linear.lora_scale = static_cast<float>(lora.scale());
  return linear;
}

bool Model::quantises(const std::string& module) const {
  if (!spec_.quantisation) return false;
  return std::ranges::none_of(spec_.quantisation->plain_modules, [&](const std::string& plain) {
    return names_module(plain, module);
  });
}

std::vector<Linear> Model::declare_slices(const std::string& module, const Names& names,
                                          const std::vector<int64_t>& outs, int64_t in,
                                          bool biased) {
  std::vector<Linear> slices;
  if (!spec_.config.fused_projections) {
    for (size_t i = 0; i < names.size(); ++i)
      slices.push_back(declare_linear(module + names[i] + "_proj", outs[i], in, biased));
    return slices;
  }
  int64_t total = 0;
  for (int64_t out : outs) total += out;
  const std::string joined = outs.size() == 3 ? "qkv" : "gate_up";
  const Linear fused = declare_linear(module + joined + "_proj", total, in, false);
  for (int64_t first = 0; int64_t out : outs) {
    if (fused.weight->storage == DType::u4 && first * in % 2 != 0)
      throw UserError(
          fmt::format("'{0}{1}_proj' joins products of {2} columns, the first of {3} rows: in 4 "
                      "bits the next would begin within a byte; leave it as it is "
                      "(llm_int8_skip_modules: {1}_proj), or train without quantization_bit",
                      module, joined, in, first));
    slices.push_back(fused);
    slices.back().first = first;
    slices.back().rows = out;
    first += out;
  }
  return slices;
}

SelfAttention Model::declare_attention(const std::string& block, int64_t layer) {
  const ModelConfig& c = spec_.config;
  const std::string self = block + "self_attn.";
  SelfAttention attention;
  attention.norm = declare_norm(block + "input_layernorm", c.hidden);
  const std::vector<Linear> qkv = declare_slices(
      self, {"q", "k", "v"}, {c.query_width(), c.kv_width(), c.kv_width()}, c.hidden, c.qkv_bias);
  attention.query = qkv[0];
  attention.key = qkv[1];
  attention.value = qkv[2];
  attention.output = declare_linear(self + "o_proj", c.hidden, c.query_width(), c.output_bias);
  if (c.head_norms) {
    attention.query_norm = {declare_norm(self + "q_norm", c.head_dim), c.num_heads, c.head_dim};
    attention.key_norm = {declare_norm(self + "k_norm", c.head_dim), c.num_kv_heads, c.head_dim};
  }
  if (c.output_norms)
    attention.output_norm = {declare_norm(block + "post_attention_layernorm", c.hidden)};
  attention.num_heads = c.num_heads;
  attention.num_kv_heads = c.num_kv_heads;
  attention.head_dim = c.head_dim;
  attention.scale = c.attention_scale();
  attention.softcap = c.attention_softcap;
  attention.window = c.window_of(layer);
  attention.is_local = c.is_local(layer);
  attention.kind = spec_.attention;
  return attention;
}

Mlp Model::declare_mlp(const std::string& block) {
  const ModelConfig& c = spec_.config;
  const char* const norm =
      c.output_norms ? "pre_feedforward_layernorm" : "post_attention_layernorm";
  Mlp mlp;
  mlp.norm = declare_norm(block + norm, c.hidden);
  const std::vector<Linear> expand = declare_slices(
      block + "mlp.", {"gate", "up"}, {c.intermediate, c.intermediate}, c.hidden, c.mlp_bias);
  mlp.gate = expand[0];
  mlp.up = expand[1];
  mlp.down = declare_linear(block + "mlp.down_proj", c.hidden, c.intermediate, c.mlp_bias);
  if (c.output_norms)
    mlp.output_norm = {declare_norm(block + "post_feedforward_layernorm", c.hidden)};
  mlp.gate_kind = c.gate;
  mlp.tile_rows = spec_.mlp_tile;
  return mlp;
}

Block Model::declare_block(int64_t layer) {
  const std::string prefix = "model.layers." + std::to_string(layer) + ".";
  Block block;
  block.attention = declare_attention(prefix, layer);
  block.mlp = declare_mlp(prefix);
  return block;
}

}  // namespace cairn
