// Sharding: what the ranks of a run share, and when they exchange it. Stage 1 keeps a share of the
// optimizer's states on each rank, stage 2 of gradients too, stage 3 of weights too (ZeRO:
// Rajbhandari et al., 2020). One rank has nothing to exchange, and all this does nothing.
#pragma once

#include <memory>
#include <span>

#include "model/peers.h"
#include "train/sharding/gathered_weights.h"
#include "train/sharding/sharding_settings.h"
#include "train/sharding/shared_gradients.h"

namespace cairn {

class Sharding : public Peers {
 public:
  // Cuts the model's parameters. Throws UserError for what cannot be shared.
  Sharding(const Exec& exec, Model& model, const ShardingSettings& settings, Communicator& ranks);
  ~Sharding() override { ranks_.lend_scratch({}); }

  // Takes the memory that transfers pass through; before the first of them.
  void allocate();

  // Where a pass finds weights and leaves gradients; null: in memory for the run.
  ParameterStore* weights() { return weights_.get(); }
  GradientStore* gradients() { return gradients_.get(); }
  // A pass is over.
  void finish_pass();

  // All micro-batches are done: gradients become sums over ranks.
  void reduce_gradients();
  // Squared norms of this rank's shares become those of whole gradients.
  void complete_squares(std::span<double> squares);
  // After an update: every rank gets what the others updated of the weights that it has whole.
  void spread_weights();
  // Numbers added up over ranks.
  void sum(std::span<double> numbers);

  void complete_absmax(const Parameter& parameter, View absmax) override;
  ConstView fetch(Parameter& parameter, int64_t begin, int64_t count, View room) override;

  Communicator& ranks() { return ranks_; }
  const GatheredWeights* gathered() const { return weights_.get(); }

 private:
  const Exec& exec_;
  Model& model_;
  ShardingSettings settings_;
  Communicator& ranks_;
  Tensor scratch_;  // [ranks_.scratch_bytes()] u8
  std::unique_ptr<GatheredWeights> weights_;
  std::unique_ptr<SharedGradients> gradients_;
};

}  // namespace cairn
