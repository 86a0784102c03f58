// Trainer: the one training step. plan, ladder and train all run this code; they differ only in the
// backend and the arena handed in. Its phases are load, step (one micro-batch), norm (of all
// gradients, to clip them), update, evaluate, save, checkpoint, resume.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "data/batch.h"
#include "files/model_files.h"
#include "model/model.h"
#include "train/gradient_watch.h"
#include "train/optimizers/optimizer.h"
#include "train/sharding/sharding.h"
#include "train/state_files.h"

namespace cairn {

// Everything that decides what a run allocates.
struct TrainSpec {
  ModelSpec model;
  CheckpointPolicy checkpointing;  // one value per block
  OptimizerSettings optimizer;
  double max_grad_norm = 1;               // 0: no clipping
  bool clips_by_unit = false;             // each unit's norm alone; with model.unit_gradients
  Capacity capacity;                      // the largest of every training batch
  std::optional<Capacity> eval_capacity;  // none: the run never evaluates
  uint64_t seed = 42;
  ShardingSettings sharding;
  World world;  // every rank has the same spec but for its own number here
};

// Of all ranks together.
struct StepOutcome {
  double loss = 0;           // mean over the step's labelled tokens
  double gradient_norm = 0;  // before clipping
  int64_t tokens = 0;
  int64_t labelled_tokens = 0;
};

// What a trainer counts, beside its weights and states.
struct TrainerCounts {
  int64_t updates = 0;
  bool moved = false;  // an update with a rate above zero has been made
};

// Where weights come from. All null: random numbers.
struct WeightSources {
  const TensorSource* base = nullptr;
  const TensorSource* adapter = nullptr;  // continues a trained adapter
};

class Trainer {
 public:
  // `pages` is where paged inputs and paged states go; wanted only if there are any. `ranks`: the
  // others of spec.world; null where there is one.
  Trainer(Backend& backend, Arena& arena, const TrainSpec& spec, PageStore* pages = nullptr,
          Communicator* ranks = nullptr);

  // Takes all that stays for the run and fills it. Returns names of tensors in the files that the
  // model has no use for. `rehearsal`: nothing is read.
  std::vector<std::string> load(const WeightSources& sources, bool rehearsal = false);
  // One optimizer step over its micro-batches, as many on every rank. Throws NotFinite if the
  // loss or a gradient is not finite, DeviceError if a trained tensor gets none.
  StepOutcome step(std::span<const Batch> micro_batches, double learning_rate);
  // Sum of the losses of the batch's labelled tokens.
  double evaluate(const Batch& batch);
  // Adapter or model; null `folder`: rehearsal, or a rank that does not write. `base_name` goes
  // into the adapter's config.
  void save(const std::string* folder, const ModelFiles* base, const std::string& base_name);

  // Trained weights and states as they are held, as a states file of a checkpoint; null: the memory
  // is taken, and nothing is written.
  void write_checkpoint(const std::string* states_file);
  // Goes on from there, after load; null: as above. Returns a sentence if states are coded
  // otherwise from here on, else nothing. Throws DamagedFile.
  std::string read_checkpoint(const StateFiles* states, const TrainerCounts& counts);
  TrainerCounts counts() const { return {optimizer_.updates(), moved_}; }

  Model& model() { return model_; }
  Optimizer& optimizer() { return optimizer_; }
  Sharding& sharding() { return sharding_; }

 private:
  // Forward and backward; returns the sum of the labelled tokens' losses.
  double micro_step(const Batch& batch, float scale, GradientStore* gradients = nullptr,
                    Phase phase_of_pass = Phase::step);
  // Tokens of all ranks' micro-batches.
  StepOutcome count(std::span<const Batch> micro_batches);
  double update(double learning_rate);
  // The same, and every unit's update as soon as its gradients are complete.
  double step_in_backward(const Batch& batch, float scale, double learning_rate, double& norm);
  double clipping_of(double norm) const;
  void zero_gradients();
  void reserve_pages();

  TrainSpec spec_;
  Exec exec_;
  PageStore* pages_;
  Charge paged_inputs_;
  std::unique_ptr<Communicator> alone_;  // where no ranks were handed in
  Model model_;
  Sharding sharding_;
  Optimizer optimizer_;
  GradientWatch watch_;
  std::vector<double> squares_;  // of each trained gradient, on the host
  std::unordered_map<const Parameter*, size_t> trained_index_;  // into squares_
  uint64_t dropout_seed_ = 0;                                   // of the step
  bool rehearsal_ = false;
  bool moved_ = false;  // an update with a rate above zero has been made
};

}  // namespace cairn
