// Trainer: the one training step. plan, ladder and train all run this code; they differ only in the
// backend and the arena handed in. Its phases are load, step (one micro-batch), update, evaluate,
// save.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/batch.h"
#include "files/model_files.h"
#include "model/model.h"
#include "train/gradient_watch.h"
#include "train/optimizers/optimizer.h"

namespace cairn {

// Everything that decides what a run allocates.
struct TrainSpec {
  ModelSpec model;
  CheckpointPolicy checkpointing;  // one value per block
  OptimizerSettings optimizer;
  double max_grad_norm = 1;               // 0: no clipping
  Capacity capacity;                      // the largest of every training batch
  std::optional<Capacity> eval_capacity;  // none: the run never evaluates
  uint64_t seed = 42;
};

struct StepOutcome {
  double loss = 0;           // mean over the step's labelled tokens
  double gradient_norm = 0;  // before clipping
  int64_t tokens = 0;
  int64_t labelled_tokens = 0;
};

// Where weights come from. All null: random numbers.
struct WeightSources {
  const TensorSource* base = nullptr;
  const TensorSource* adapter = nullptr;  // continues a trained adapter
};

class Trainer {
 public:
  // `pages` is where paged inputs and paged states go; wanted only if there are any.
  Trainer(Backend& backend, Arena& arena, const TrainSpec& spec, PageStore* pages = nullptr);

  // Takes all that stays for the run and fills it. Returns names of tensors in the files that the
  // model has no use for. `rehearsal`: nothing is read.
  std::vector<std::string> load(const WeightSources& sources, bool rehearsal = false);
  // One optimizer step over its micro-batches. Throws DeviceError if a gradient is not finite or a
  // trained tensor gets none.
  StepOutcome step(std::span<const Batch> micro_batches, double learning_rate);
  // Sum of the losses of the batch's labelled tokens.
  double evaluate(const Batch& batch);
  // Adapter or model; null `folder`: rehearsal. `base_name` goes into the adapter's config.
  void save(const std::string* folder, const ModelFiles* base, const std::string& base_name);

  Model& model() { return model_; }
  Optimizer& optimizer() { return optimizer_; }

 private:
  void micro_step(const Batch& batch, float scale, StepOutcome& outcome);
  double update(double learning_rate);
  void zero_gradients();
  void reserve_pages();

  TrainSpec spec_;
  Exec exec_;
  PageStore* pages_;
  Charge paged_inputs_;
  Model model_;
  Optimizer optimizer_;
  GradientWatch watch_;
  std::vector<double> squares_;  // of each trained gradient, on the host
  bool rehearsal_ = false;
  bool moved_ = false;  // an update with a rate above zero has been made
};

}  // namespace cairn
