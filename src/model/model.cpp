#include "model/model.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "ops/embedding.h"

namespace cairn {
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

std::vector<Unit> Model::weight_units() {
  std::vector<Unit> units(head_unit(blocks_.size()) + 1);
  for (Parameter& parameter : parameters_) units[parameter.unit].push_back(&parameter);
  if (head_.vocabulary.weight == embedding_) units.back().push_back(embedding_);
  return units;
}

Parameter* Model::find(const std::string& name) {
  for (Parameter& parameter : parameters_)
    if (parameter.name == name) return &parameter;
  return nullptr;
}

Tensor Model::embed(const Pass& pass) const {
  pass.open_weights(kEmbeddingUnit);
  Tensor hidden = pass.make_activation("embedded", spec_.config.hidden);
  ops::embedding_forward(pass.exec, pass.ids, embedding_->value, pass.filled(hidden),
                         embedding_scale(pass));
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
  pass.open_weights(head_unit(blocks_.size()));
  OpenGradients head_gradients(pass, head_unit_);
  const double loss = head_.forward_backward(pass, pass.filled(std::as_const(output)), scale,
                                             pass.filled(d), head_waits ? &waiting : nullptr);
  head_gradients.complete();
  output.reset();
  runner.backward(pass.filled(d), embedding_->trainable);
  if (head_waits) pass.open_weights(head_unit(blocks_.size()));
  if (!embedding_->trainable) {
    pass.close_weights();
    return loss;
  }
  OpenGradients gradients(pass, embedding_unit_);
  if (head_waits) head_.backward_vocabulary(pass, waiting, scale);
  pass.close_weights();
  ops::embedding_backward(pass.exec, pass.ids, pass.filled(std::as_const(d)),
                          embedding_->gradient.view(), embedding_scale(pass), pass.capacity.tokens);
  gradients.complete();
  return loss;
}

double Model::evaluate_pass(const Pass& pass) const {
  const Tensor output = run_blocks(pass, blocks_, embed(pass));
  pass.open_weights(head_unit(blocks_.size()));
  const double loss = head_.forward_backward(pass, pass.filled(output), 0, View());
  pass.close_weights();
  return loss;
}

void Model::generate_pass(const Pass& pass, KvCache& cache, ConstView cu_keys, View logits) const {
  Tensor hidden = embed(pass);
  for (size_t i = 0; i < blocks_.size(); ++i) {
    pass.open_weights(unit_of_block(i));
    Tensor output = pass.make_activation("output", spec_.config.hidden);
    blocks_[i].forward_cached(pass, pass.filled(std::as_const(hidden)), cache,
                              static_cast<int64_t>(i), cu_keys, pass.filled(output));
    hidden = std::move(output);
  }
  cache.advance(pass.tokens());
  head_.logits(pass, std::as_const(hidden).view().view_rows(pass.tokens() - 1, 1), logits);
}

}  // namespace cairn
