// Model: a decoder of any family that a ModelConfig describes. It declares its parameters once;
// memory comes later, from the arena, in the load phase. One training pass is forward, loss and
// backward of one micro-batch.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/block_runner.h"
#include "model/layers/loss_head.h"
#include "model/streamed_weights.h"
#include "model/trained_precision.h"

namespace cairn {

// Wider than any model that this version reads.
inline constexpr int64_t kMostLoraRank = 65536;
inline constexpr double kMostLoraDropout = 0.9999999;  // in 32 bits, a nearer one is 1

struct LoraSpec {
  int64_t rank = 8;
  double alpha = 16;
  double dropout = 0;            // of the input of A, while training
  bool rank_stabilized = false;  // rsLoRA (Kalajdzievski, 2023)
  // LoRA+ (Hayou et al., 2024): the learning rate of B, and of vectors trained beside the pairs,
  // over that of A.
  double learning_rate_ratio = 1;
  // Modules trained in full beside the pairs, by the end of their names: PEFT's modules_to_save.
  std::vector<std::string> modules_to_save;
  std::vector<std::string> targets = {"all"};  // ends of module names; all: every product

  // What B A x is multiplied by: alpha / rank, or alpha / sqrt(rank) if rank-stabilized.
  double scale() const;
  bool saves_beside(const std::string& module) const;
};

struct ModelSpec {
  ModelConfig config;
  bool trains = true;            // false: every parameter is frozen, no gradients
  std::optional<LoraSpec> lora;  // none: every parameter is trained
  TrainedPrecision precision = TrainedPrecision::f32;
  DType frozen_storage = DType::bf16;
  std::optional<QuantSpec> quantisation;  // of frozen products; none: frozen_storage
  bool upcast_norms = false;              // frozen norms in f32 whatever frozen_storage says
  DType activation = DType::bf16;
  AttentionKind attention = AttentionKind::flash;
  int64_t loss_chunk = 0;        // rows of logits at a time; 0: default_loss_chunk
  int64_t mlp_tile = 0;          // tokens that pass through an MLP at a time; 0: auto
  bool streams_weights = false;  // frozen ones of the blocks pass through memory; passes open them
  bool unit_gradients = false;   // they live while a unit's backward runs; passes bring a store

  // True if the head is tied to the embedding in the model's files and yet has a copy of its own,
  // since one of the two is trained beside the pairs and the other is not, or both are: as in PEFT.
  bool parts_tied_head() const;
};

class Model {
 public:
  // Declares the parameters; takes no memory. Throws UserError for a LoRA target that no module
  // has; `all` is spelled out in spec().
  explicit Model(const ModelSpec& spec);
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  const ModelSpec& spec() const { return spec_; }
  const ModelConfig& config() const { return spec_.config; }
  ParameterList& parameters() { return parameters_; }
  const ParameterList& parameters() const { return parameters_; }
  Parameter* find(const std::string& name);
  const LossHead& head() const { return head_; }
  // True if a training pass drops inputs of pairs, and so wants the batch's samples.
  bool drops() const { return spec_.lora && spec_.lora->dropout > 0; }

  // Takes the memory of values, gradients and the rotary table for `positions` positions.
  void allocate(const Exec& exec, int64_t positions);
  // Writes the rotary table. A rehearsal has no use for it, and it takes a while for many
  // positions.
  void write_tables(const Exec& exec);
  ConstView rope_table() const { return rope_table_.view(); }
  // Empty unless some layers turn by another base.
  ConstView local_rope_table() const { return local_rope_table_.view(); }
  // Empty unless weights are quantised; loading fills them.
  QuantTables& quant_tables() { return quant_tables_; }
  // Null unless weights stream.
  StreamedWeights* streamed() const { return streamed_.get(); }
  // The parameters that each unit's pass reads: embedding, blocks, head. A tied head reads the
  // embedding's.
  std::vector<Unit> weight_units();
  // The parts of allocate: tables of codes, and one parameter's value with what its codes need.
  void allocate_tables(const Exec& exec);
  void allocate_value(const Exec& exec, Parameter& parameter);

  // Forward, loss and backward; returns the sum of the labelled rows' losses. Gradients are those
  // of scale * sum.
  double train_pass(const Pass& pass, const CheckpointPolicy& policy, float scale) const;
  // The loss alone.
  double evaluate_pass(const Pass& pass) const;
  // The logits [1, vocab] f32 of the batch's last token; the batch continues the cache's sequence.
  // cu_keys [2] i32.
  void generate_pass(const Pass& pass, KvCache& cache, ConstView cu_keys, View logits) const;

 private:
  Parameter* declare(std::string name, Shape shape, bool decays);
  void declare_head();
  void allocate_slots(const Exec& exec);
  RmsNorm declare_norm(const std::string& module, int64_t width);
  Linear declare_linear(const std::string& module, int64_t out, int64_t in, bool biased);
  // Products of one input: each a weight of its own, or rows of one that is fused.
  std::vector<Linear> declare_slices(const std::string& module,
                                     const std::vector<std::string>& names,
                                     const std::vector<int64_t>& outs, int64_t in, bool biased);
  SelfAttention declare_attention(const std::string& block, int64_t layer);
  Mlp declare_mlp(const std::string& block);
  Block declare_block(int64_t layer);
  bool quantises(const std::string& module) const;
  Tensor embed(const Pass& pass) const;
  float embedding_scale(const Pass& pass) const {
    return spec_.config.embedding_scale(pass.activation);
  }

  ModelSpec spec_;
  ParameterList parameters_;
  Parameter* embedding_ = nullptr;
  std::vector<Block> blocks_;
  Unit head_unit_, embedding_unit_;  // a tied head belongs to the embedding
  LossHead head_;
  Tensor rope_table_, local_rope_table_;
  QuantTables quant_tables_;
  std::unique_ptr<StreamedWeights> streamed_;
};

// Throws UserError if modules_to_save names what no module is. Not Model's own check: a plan looks
// at a model of fewer blocks, where a module of a later one is missing.
void check_saved_beside(const Model& model);

}  // namespace cairn
