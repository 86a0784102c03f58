#include "model/model.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "ops/embedding.h"

namespace cairn {
namespace {

void check_targets(const LoraSpec& lora) {
  static const std::vector<std::string> modules = LoraSpec().targets;
  if (lora.targets.empty())
    throw UserError("lora_target names no module; 'all' takes every product");
  for (const std::string& target : lora.targets)
    if (std::find(modules.begin(), modules.end(), target) == modules.end())
      throw UserError(
          fmt::format("lora_target '{}' is no module of this model; choose among {} or 'all'",
                      target, fmt::join(modules, ", ")));
}

std::string module_of(const std::string& parameter) {
  return parameter.substr(0, parameter.rfind(".weight"));
}

// LLaMA-Factory's rule.
bool is_norm(const Parameter& parameter) {
  return parameter.shape.rank() == 1 && (parameter.name.find("norm") != std::string::npos ||
                                         parameter.name.find("ln") != std::string::npos);
}

void check_saved_beside(const LoraSpec& lora, const ParameterList& parameters) {
  for (const std::string& end : lora.modules_to_save)
    if (std::none_of(parameters.begin(), parameters.end(), [&](const Parameter& parameter) {
          return parameter.saved_beside && module_of(parameter.name).ends_with(end);
        }))
      throw UserError(
          fmt::format("additional_target '{}' is no module of this model; give the end of a "
                      "module's name, such "
                      "as embed_tokens, lm_head or norm",
                      end));
}

}  // namespace

double LoraSpec::scale() const {
  const auto width = static_cast<double>(rank);
  return alpha / (rank_stabilized ? std::sqrt(width) : width);
}

bool LoraSpec::saves_beside(const std::string& module) const {
  return std::any_of(modules_to_save.begin(), modules_to_save.end(),
                     [&](const std::string& end) { return module.ends_with(end); });
}

bool ModelSpec::parts_tied_head() const {
  return config.tied_embeddings && lora &&
         (lora->saves_beside("model.embed_tokens") || lora->saves_beside("lm_head"));
}

Model::Model(const ModelSpec& spec) : spec_(spec) {
  if (spec_.lora) check_targets(*spec_.lora);
  const bool has_frozen = spec_.lora || !spec_.trains;
  CAIRN_CHECK(!spec_.quantisation || has_frozen,
              "[model] wanted quantised weights to be frozen, got weights that are trained");
  CAIRN_CHECK(!spec_.streams_weights || has_frozen,
              "[model] wanted weights that stream to be frozen, got weights that are trained");
  const ModelConfig& config = spec_.config;
  embedding_ = declare("model.embed_tokens.weight", {config.vocab, config.hidden}, true);
  embedding_->embedding = true;
  for (int64_t i = 0; i < config.num_layers; ++i) {
    const size_t first = parameters_.size();
    blocks_.push_back(declare_block(i));
    if (!spec_.streams_weights) continue;
    for (size_t p = first; p < parameters_.size(); ++p)
      if (!parameters_[p].trainable && !parameters_[p].adapter) parameters_[p].streamed_block = i;
  }
  declare_head();
  collect_units();
  if (spec_.lora) check_saved_beside(*spec_.lora, parameters_);
}

void Model::collect_units() {
  const auto add = [](Unit& unit, Parameter* parameter) {
    if (parameter && parameter->trainable) unit.push_back(parameter);
  };
  add(embedding_unit_, embedding_);
  add(head_unit_, head_.norm.weight);
  if (head_.vocabulary.weight != embedding_) add(head_unit_, head_.vocabulary.weight);
  for (Block& block : blocks_) {
    add(block.trained, block.attention.norm.weight);
    for (const Linear* linear : {&block.attention.query, &block.attention.key,
                                 &block.attention.value, &block.attention.output}) {
      add(block.trained, linear->weight);
      add(block.trained, linear->lora_a);
      add(block.trained, linear->lora_b);
    }
    add(block.trained, block.mlp.norm.weight);
    for (const Linear* linear : {&block.mlp.gate, &block.mlp.up, &block.mlp.down}) {
      add(block.trained, linear->weight);
      add(block.trained, linear->lora_a);
      add(block.trained, linear->lora_b);
    }
  }
}

void Model::declare_head() {
  const ModelConfig& config = spec_.config;
  head_.norm = {declare("model.norm.weight", {config.hidden}, false), config.rms_epsilon};
  head_.chunk_rows = spec_.loss_chunk > 0 ? spec_.loss_chunk : default_loss_chunk(config.vocab);
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

Linear Model::declare_linear(const std::string& module, int64_t out, int64_t in) {
  Linear linear;
  linear.weight = declare(module + ".weight", {out, in}, true);
  if (quantises(module) && !linear.weight->saved_beside) linear.weight->storage = DType::u4;
  if (!spec_.lora) return linear;
  const LoraSpec& lora = *spec_.lora;
  const std::string kind = module.substr(module.rfind('.') + 1);
  if (std::find(lora.targets.begin(), lora.targets.end(), kind) == lora.targets.end())
    return linear;
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
  // A name stands for a module, for all below one, or for the end of a module's name.
  return std::ranges::none_of(spec_.quantisation->plain_modules, [&](const std::string& plain) {
    return module == plain || module.starts_with(plain + ".") || module.ends_with("." + plain);
  });
}

Block Model::declare_block(int64_t index) {
  const ModelConfig& c = spec_.config;
  const std::string prefix = "model.layers." + std::to_string(index) + ".";
  const std::string self = prefix + "self_attn.", mlp = prefix + "mlp.";
  Block block;
  block.attention.norm = {declare(prefix + "input_layernorm.weight", {c.hidden}, false),
                          c.rms_epsilon};
  block.attention.query = declare_linear(self + "q_proj", c.query_width(), c.hidden);
  block.attention.key = declare_linear(self + "k_proj", c.kv_width(), c.hidden);
  block.attention.value = declare_linear(self + "v_proj", c.kv_width(), c.hidden);
  block.attention.output = declare_linear(self + "o_proj", c.hidden, c.query_width());
  block.attention.num_heads = c.num_heads;
  block.attention.num_kv_heads = c.num_kv_heads;
  block.attention.head_dim = c.head_dim;
  block.attention.kind = spec_.attention;
  block.mlp.norm = {declare(prefix + "post_attention_layernorm.weight", {c.hidden}, false),
                    c.rms_epsilon};
  block.mlp.gate = declare_linear(mlp + "gate_proj", c.intermediate, c.hidden);
  block.mlp.up = declare_linear(mlp + "up_proj", c.intermediate, c.hidden);
  block.mlp.down = declare_linear(mlp + "down_proj", c.hidden, c.intermediate);
  block.mlp.tile_rows = spec_.mlp_tile;
  return block;
}

Parameter* Model::find(const std::string& name) {
  for (Parameter& parameter : parameters_)
    if (parameter.name == name) return &parameter;
  return nullptr;
}

Tensor Model::embed(const Pass& pass) const {
  Tensor hidden = pass.make_activation("embedded", spec_.config.hidden);
  ops::embedding_forward(pass.exec, pass.ids, embedding_->value, pass.filled(hidden));
  return hidden;
}

double Model::train_pass(const Pass& pass, const CheckpointPolicy& policy, float scale) const {
  BlockRunner runner(pass, blocks_, policy, spec_.config.hidden);
  Tensor output = runner.forward(embed(pass));
  Tensor d = pass.make_gradient("d hidden", spec_.config.hidden);
  // A tied head's part of the embedding's gradient waits until the blocks' gradients are gone.
  Tensor waiting;
  const bool head_waits =
      pass.gradients && embedding_->trainable && head_.vocabulary.weight == embedding_;
  OpenGradients head_gradients(pass, head_unit_);
  const double loss = head_.forward_backward(pass, pass.filled(std::as_const(output)), scale,
                                             pass.filled(d), head_waits ? &waiting : nullptr);
  head_gradients.complete();
  output.reset();
  runner.backward(pass.filled(d), embedding_->trainable);
  if (!embedding_->trainable) return loss;
  OpenGradients gradients(pass, embedding_unit_);
  if (head_waits) head_.backward_vocabulary(pass, waiting, scale);
  ops::embedding_backward(pass.exec, pass.ids, pass.filled(std::as_const(d)),
                          embedding_->gradient.view());
  gradients.complete();
  return loss;
}

double Model::evaluate_pass(const Pass& pass) const {
  const Tensor output = run_blocks(pass, blocks_, embed(pass));
  return head_.forward_backward(pass, pass.filled(output), 0, View());
}

void Model::generate_pass(const Pass& pass, KvCache& cache, ConstView cu_keys, View logits) const {
  Tensor hidden = embed(pass);
  for (size_t i = 0; i < blocks_.size(); ++i) {
    pass.open_weights(i);
    Tensor output = pass.make_activation("output", spec_.config.hidden);
    blocks_[i].forward_cached(pass, pass.filled(std::as_const(hidden)), cache,
                              static_cast<int64_t>(i), cu_keys, pass.filled(output));
    hidden = std::move(output);
  }
  cache.advance(pass.tokens());
  head_.logits(pass, std::as_const(hidden).view().view_rows(pass.tokens() - 1, 1), logits);
}

}  // namespace cairn
