#include "train/trainer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/random.h"
#include "comm/registry.h"
#include "model/loading.h"
#include "model/saving.h"
#include "ops/moving.h"
#include "ops/sum_of_squares.h"
#include "train/checkpoint_states.h"
#include "train/device_batch.h"
#include "train/unit_gradients.h"

namespace cairn {
namespace {

int64_t positions_of(const TrainSpec& spec) {
  const int64_t eval = spec.eval_capacity ? spec.eval_capacity->longest_segment : 0;
  return std::max(spec.capacity.longest_segment, eval);
}

// One step's key: two words of a stream that no parameter has.
uint64_t dropout_seed(uint64_t seed, int64_t step) {
  const auto words = Random(seed, ~uint64_t{0}).words(static_cast<uint64_t>(step));
  return uint64_t{words[0]} << 32 | words[1];
}

}  // namespace

Trainer::Trainer(Backend& backend, Arena& arena, const TrainSpec& spec, PageStore* pages,
                 Communicator* ranks)
    : spec_(spec),
      exec_{backend, arena},
      pages_(pages),
      alone_(ranks ? nullptr : open_solo()),
      model_(spec.model),
      sharding_(exec_, model_, spec.sharding, ranks ? *ranks : *alone_),
      optimizer_(model_, spec.optimizer) {
  CAIRN_CHECK(sharding_.ranks().world() == spec.world, "[trainer] wanted {} ranks, got {}",
              spec.world.size, sharding_.ranks().world_size());
}

std::vector<std::string> Trainer::load(const WeightSources& sources, bool rehearsal) {
  const Arena::PhaseScope phase(exec_.arena, Phase::load);
  rehearsal_ = rehearsal;
  model_.allocate(exec_, positions_of(spec_));
  sharding_.allocate();
  optimizer_.allocate(exec_);
  reserve_pages();
  if (!rehearsal) model_.write_tables(exec_);
  std::vector<std::string> unused;
  if (rehearsal || sources.base)
    unused = load_weights(exec_, model_, sources.base, &sharding_);
  else
    start_random(exec_, model_, spec_.seed, &sharding_);
  if (spec_.model.lora) {
    load_adapter(exec_, model_, sources.adapter);
    if (!rehearsal && !sources.adapter) start_adapter(exec_, model_, spec_.seed);
  }
  optimizer_.start(exec_);
  zero_gradients();
  for (const Parameter& parameter : model_.parameters())
    if (parameter.trainable) trained_index_.emplace(&parameter, trained_index_.size());
  squares_.resize(trained_index_.size());
  return unused;
}

// One store serves all: block inputs first, states behind them, then weights.
void Trainer::reserve_pages() {
  const int64_t inputs = PagedInputs::bytes_of(spec_.checkpointing, spec_.capacity.tokens,
                                               spec_.model.activation, spec_.model.config.hidden);
  const int64_t states = optimizer_.page_bytes();
  StreamedWeights* const streamed = model_.streamed();
  const int64_t weights = streamed ? streamed->page_bytes() : 0;
  if (inputs + states + weights == 0) return;
  CAIRN_CHECK(pages_, "[trainer] wanted a page store for what pages, got none");
  Ledger& ledger = exec_.arena.ledger();
  if (inputs > 0)
    paged_inputs_ = ledger.charge(Account::activations, Place::page, "block inputs", inputs);
  optimizer_.use_pages(ledger, pages_, inputs);
  if (streamed) streamed->use_pages(ledger, *pages_, inputs + states);
  pages_->reserve(inputs + states + weights);
}

void Trainer::zero_gradients() {
  for (Parameter& parameter : model_.parameters())
    for (Tensor* gradient : {&parameter.gradient, &parameter.gradient_share})
      if (*gradient) ops::fill_zero(exec_, gradient->view());
}

StepOutcome Trainer::count(std::span<const Batch> micro_batches) {
  std::array<double, 2> counts = {0, 0};
  for (const Batch& batch : micro_batches) {
    counts[0] += static_cast<double>(batch.tokens());
    counts[1] += static_cast<double>(batch.labelled());
  }
  sharding_.sum(counts);
  StepOutcome outcome;
  outcome.tokens = static_cast<int64_t>(counts[0]);
  outcome.labelled_tokens = static_cast<int64_t>(counts[1]);
  return outcome;
}

StepOutcome Trainer::step(std::span<const Batch> micro_batches, double learning_rate) {
  StepOutcome outcome = count(micro_batches);
  const double labels = std::max(1.0, static_cast<double>(outcome.labelled_tokens));
  const auto scale = static_cast<float>(1 / labels);
  watch_.begin_step();
  dropout_seed_ = dropout_seed(spec_.seed, optimizer_.updates());
  if (spec_.model.unit_gradients) {
    CAIRN_CHECK(micro_batches.size() == 1,
                "[trainer] wanted one micro-batch for the optimizer in backward, got {}",
                micro_batches.size());
    outcome.loss = step_in_backward(micro_batches[0], scale, learning_rate, outcome.gradient_norm);
    sharding_.sum({&outcome.loss, 1});
    if (!rehearsal_) watch_.check_loss(outcome.loss);
  } else {
    for (const Batch& batch : micro_batches) outcome.loss += micro_step(batch, scale);
    // Before an update could spoil the weights.
    sharding_.sum({&outcome.loss, 1});
    if (!rehearsal_) watch_.check_loss(outcome.loss);
    outcome.gradient_norm = update(learning_rate);
  }
  outcome.loss /= labels;
  moved_ = moved_ || learning_rate > 0;
  return outcome;
}

double Trainer::micro_step(const Batch& batch, float scale, GradientStore* gradients,
                           Phase phase_of_pass) {
  const Arena::PhaseScope phase(exec_.arena, phase_of_pass);
  const DeviceBatch on_device(exec_, batch, spec_.capacity, model_.drops());
  Pass pass = on_device.make_pass(model_, pages_);
  pass.dropout_seed = dropout_seed_;
  pass.gradients = gradients ? gradients : sharding_.gradients();
  if (sharding_.weights()) pass.weights = sharding_.weights();
  const double loss = model_.train_pass(pass, spec_.checkpointing, scale);
  sharding_.finish_pass();
  return loss;
}

// As torch.nn.utils.clip_grad_norm_.
double Trainer::clipping_of(double norm) const {
  return spec_.max_grad_norm > 0 ? std::min(1.0, spec_.max_grad_norm / (norm + 1e-6)) : 1.0;
}

double Trainer::step_in_backward(const Batch& batch, float scale, double learning_rate,
                                 double& norm) {
  const DType storage = trained_storage(spec_.model.precision);
  const auto norm_of = [](std::span<const double> squares) {
    return std::sqrt(std::accumulate(squares.begin(), squares.end(), 0.0));
  };
  const auto keep = [&](const Unit& unit, std::span<const double> squares) {
    for (size_t i = 0; i < unit.size(); ++i) squares_[trained_index_.at(unit[i])] = squares[i];
  };
  // The norm of all gradients is known only after a whole backward: a pass of its own.
  const bool measures = spec_.max_grad_norm > 0 && !spec_.clips_by_unit;
  if (measures) {
    UnitGradients measured(exec_, storage, keep);
    micro_step(batch, scale, &measured, Phase::norm);
    if (!rehearsal_) watch_.check(model_.parameters(), squares_, moved_);
    norm = norm_of(squares_);
  }
  optimizer_.begin_update();
  UnitGradients applied(exec_, storage, [&](const Unit& unit, std::span<const double> squares) {
    if (!measures) keep(unit, squares);
    for (size_t i = 0; i < unit.size(); ++i) watch_.check_finite(*unit[i], squares[i]);
    const double clip = clipping_of(spec_.clips_by_unit ? norm_of(squares) : norm);
    optimizer_.update_unit(exec_, unit, learning_rate, clip);
  });
  const double loss = micro_step(batch, scale, &applied);
  if (measures) return loss;
  if (!rehearsal_) watch_.check(model_.parameters(), squares_, moved_);
  norm = norm_of(squares_);
  return loss;
}

double Trainer::update(double learning_rate) {
  const Arena::PhaseScope phase(exec_.arena, Phase::update);
  sharding_.reduce_gradients();
  {
    Tensor squares = exec_.make(Account::workspace, "squared norms", DType::f64,
                                {static_cast<int64_t>(squares_.size())});
    int64_t index = 0;
    for (Parameter& parameter : model_.parameters())
      if (parameter.trainable)
        ops::sum_of_squares(exec_, parameter.view_own_gradient(),
                            squares.view().view_rows(index++, 1));
    exec_.backend.device().copy_to_host(exec_.stream, squares.view().data(), squares_.data(),
                                        squares.bytes());
    exec_.backend.device().wait(exec_.stream);
  }
  sharding_.complete_squares(squares_);
  if (!rehearsal_) watch_.check(model_.parameters(), squares_, moved_);
  double total = 0;
  for (double square : squares_) total += square;
  const double norm = std::sqrt(total);
  optimizer_.update(exec_, learning_rate, clipping_of(norm));
  sharding_.spread_weights();
  zero_gradients();
  return norm;
}

double Trainer::evaluate(const Batch& batch) {
  CAIRN_CHECK(spec_.eval_capacity.has_value(),
              "[evaluate] wanted a capacity in the spec, got none");
  const Arena::PhaseScope phase(exec_.arena, Phase::evaluate);
  const DeviceBatch on_device(exec_, batch, *spec_.eval_capacity);
  Pass pass = on_device.make_pass(model_);
  if (sharding_.weights()) pass.weights = sharding_.weights();
  return model_.evaluate_pass(pass);
}

void Trainer::save(const std::string* folder, const ModelFiles* base,
                   const std::string& base_name) {
  const Arena::PhaseScope phase(exec_.arena, Phase::save);
  if (spec_.model.lora)
    save_adapter(exec_, model_, folder, base_name, &sharding_);
  else
    save_model(exec_, model_, folder, base, spec_.model.activation, &sharding_);
}

void Trainer::write_checkpoint(const std::string* states_file) {
  const Arena::PhaseScope phase(exec_.arena, Phase::checkpoint);
  write_states(exec_, optimizer_, states_file);
}

std::string Trainer::read_checkpoint(const StateFiles* states, const TrainerCounts& counts) {
  const Arena::PhaseScope phase(exec_.arena, Phase::resume);
  std::string remark = read_states(exec_, optimizer_, states);
  if (!states) return remark;
  // Each rank has read its own.
  sharding_.spread_weights();
  optimizer_.set_updates(counts.updates);
  watch_.go_on_after(counts.updates, counts.moved);
  moved_ = counts.moved;
  return remark;
}

}  // namespace cairn
