#include "train/engine.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <numeric>

#include "base/error.h"
#include "files/checkpoint_folder.h"
#include "files/page_file.h"
#include "train/explain_not_finite.h"
#include "train/run_checkpoints.h"

namespace cairn {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Mean loss over the labelled tokens of all batches.
double evaluate(Trainer& trainer, const ExampleSet& examples, int64_t batch_size, World world) {
  std::array<double, 2> sums = {0, 0};  // losses, tokens
  for (int64_t i = 0; i < count_eval_batches(examples, batch_size, world); ++i) {
    const Batch batch = make_eval_batch(examples, batch_size, i, world);
    sums[0] += trainer.evaluate(batch);
    sums[1] += static_cast<double>(batch.labelled());
  }
  trainer.sharding().sum(sums);
  return sums[0] / std::max(1.0, sums[1]);
}

double mean(const std::vector<double>& values) {
  const auto count = static_cast<double>(std::max<size_t>(1, values.size()));
  return std::accumulate(values.begin(), values.end(), 0.0) / count;
}

bool is_due(IntervalStrategy strategy, double interval, int64_t step, const Sampler& sampler) {
  switch (strategy) {
    case IntervalStrategy::no:
      return false;
    case IntervalStrategy::steps:
      return step % resolve_steps(interval, sampler.steps()) == 0;
    case IntervalStrategy::epoch:
      return step % sampler.steps_per_epoch() == 0;
  }
  return false;
}

// The page file of block inputs, states and frozen weights, if any may move.
std::unique_ptr<PageFile> open_pages(const PreparedRun& run) {
  const CheckpointPolicy& policy = run.spec.checkpointing;
  const bool inputs = std::any_of(policy.begin(), policy.end(), [](const BlockPolicy& block) {
    return block.first == Keep::paged_input;
  });
  if (!inputs && run.spec.optimizer.place == StatePlace::resident &&
      !run.spec.model.streams_weights)
    return nullptr;
  const std::string& folder = run.recipe.memory.page_dir;
  return std::make_unique<PageFile>(folder.empty() ? run.recipe.output.output_dir : folder);
}

class Run {
 public:
  Run(const PreparedRun& prepared, Backend& backend, Arena& arena, TrainObserver& observer,
      Communicator* ranks)
      : prepared_(prepared),
        recipe_(prepared.recipe),
        sampler_(*prepared.sampler),
        arena_(arena),
        observer_(observer),
        pages_(open_pages(prepared)),
        trainer_(backend, arena, prepared.spec, pages_.get(), ranks),
        checkpoints_(prepared, [this](const std::string& remark) { observer_.on_remark(remark); }) {
  }

  RunSummary run() {
    try {
      return run_to_end();
    } catch (const CommError& error) {
      throw CommError(fmt::format("{}; {}", error.what(), checkpoints_.latest_words()));
    }
  }

 private:
  RunSummary run_to_end() {
    observer_.on_loaded(trainer_.load({prepared_.files.weights.get(), prepared_.adapter.get()}));
    resume();
    begin_ = Clock::now();
    while (state_.step < sampler_.steps() && !wants_stop()) one_step(state_.step);
    const bool stopped = state_.step < sampler_.steps();
    // A checkpoint of this very step is there, or there is nothing yet to save.
    if (stopped && state_.step > 0 && checkpoints_.latest_step() != state_.step) save_checkpoint();
    // Of a run that wrote no checkpoint the plan has the memory too: a signal may ask for one.
    if (!saved_) trainer_.write_checkpoint(nullptr);
    if (!stopped) {
      // Hours have passed since it was there.
      if (leads()) make_folder(recipe_.output.output_dir);
      save_model(recipe_.output.output_dir);
    }
    return summary(stopped);
  }

  bool alone() const { return prepared_.spec.world.size == 1; }
  // Whether any rank's observer does: all ranks stop after the same step.
  bool wants_stop() {
    double ranks = observer_.wants_stop() ? 1 : 0;
    trainer_.sharding().sum({&ranks, 1});
    return stopping_ = ranks > 0;
  }
  bool leads() const { return prepared_.spec.world.rank == 0; }
  void meet() {
    if (!alone()) trainer_.sharding().ranks().barrier();
  }

  void resume() {
    const auto& point = prepared_.resume;
    if (!point) {
      trainer_.read_checkpoint(nullptr, {});
      state_.identity = identify(prepared_);
      return;
    }
    const StateFiles states(point->folder);
    const std::string remark = trainer_.read_checkpoint(&states, point->state.counts);
    if (!remark.empty()) observer_.on_remark(remark);
    state_ = point->state;
    state_.identity = identify(prepared_);
    for (const std::string& changed : remarks_of_changes(
             point->state.identity.planned, state_.identity.planned, point->state.step))
      observer_.on_remark(changed);
    seconds_before_ = state_.seconds;
  }

  void one_step(int64_t index) {
    const auto step_begin = Clock::now();
    const SampledStep rows = sampler_.step(index, prepared_.spec.world.rank);
    std::vector<Batch> batches;
    for (const MicroBatch& micro_batch : rows)
      batches.push_back(make_batch(prepared_.data.train, micro_batch));

    StepRecord record;
    record.step = index + 1;
    record.total_steps = sampler_.steps();
    record.epoch = sampler_.epochs_after(record.step);
    record.learning_rate = prepared_.schedule.learning_rate(index);
    try {
      record.outcome = trainer_.step(batches, record.learning_rate);
    } catch (const NotFinite& error) {
      throw NotFinite(explain_not_finite(error, prepared_, rows_of_all_ranks(index),
                                         checkpoints_.latest_words()));
    }
    record.seconds = seconds_since(step_begin);
    const bool last = record.step == record.total_steps;
    const ExampleSet& validation = prepared_.data.validation;
    if (!validation.empty() && (last || is_due(recipe_.train.eval_strategy,
                                               recipe_.train.eval_steps, record.step, sampler_)))
      record.eval_loss = evaluate(trainer_, validation, recipe_.train.per_device_eval_batch_size,
                                  prepared_.spec.world);
    record.seconds_elapsed = seconds_before_ + seconds_since(begin_);
    record.bytes_in_use = arena_.ledger().current();
    keep(record);
    observer_.on_step(record);
    const OutputRecipe& output = recipe_.output;
    // The last step too, as transformers does: a longer run can go on from there.
    if ((last && output.save_strategy != IntervalStrategy::no) ||
        is_due(output.save_strategy, output.save_steps, record.step, sampler_))
      save_checkpoint();
  }

  SampledStep rows_of_all_ranks(int64_t index) const {
    SampledStep all;
    for (int rank = 0; rank < prepared_.spec.world.size; ++rank)
      for (const MicroBatch& micro_batch : sampler_.step(index, rank)) all.push_back(micro_batch);
    return all;
  }

  void keep(const StepRecord& record) {
    state_.step = record.step;
    state_.total_steps = record.total_steps;
    state_.epoch = record.epoch;
    state_.seconds = record.seconds_elapsed;
    state_.trained_tokens += record.outcome.labelled_tokens;
    if (record.eval_loss) state_.eval_loss = record.eval_loss;
    constexpr auto kMost = static_cast<size_t>(RunSummary::kSummarySteps);
    if (state_.first_losses.size() < kMost) state_.first_losses.push_back(record.outcome.loss);
    state_.last_losses.push_back(record.outcome.loss);
    if (state_.last_losses.size() > kMost) state_.last_losses.erase(state_.last_losses.begin());
  }

  // All ranks write to one folder, which the first makes and puts in its place. They meet when it
  // is there, when all have written, and when it has its name.
  void save_checkpoint() {
    // Of a run that is to stop, states are saved whatever save_only_model says.
    const bool with_states = !recipe_.output.save_only_model || stopping_;
    if (!leads()) {
      meet();
      return checkpoints_.add(state_.step, with_states, [&](const std::string& folder) {
        write_files(folder, with_states);
        meet();
        meet();
      });
    }
    const auto write = [&](const std::string& folder) {
      meet();
      write_files(folder, with_states);
      meet();
      if (!with_states) return;
      state_.counts = trainer_.counts();
      write_trainer_state(folder, state_);
      observer_.save_state(folder);
    };
    const std::string path = checkpoints_.save(state_.step, with_states, write);
    meet();
    observer_.on_checkpoint(path);
  }

  // What of a checkpoint is this rank's to write. States that ranks do not share are alike on all.
  void write_files(const std::string& folder, bool with_states) {
    save_model(folder);
    const World world = prepared_.spec.world;
    const bool shares = world.size > 1 && prepared_.spec.sharding.shares_states();
    if (!with_states || (!shares && !leads())) return;
    const std::string states =
        folder + "/" + states_file_name(shares ? world.rank : 0, shares ? world.size : 1);
    trainer_.write_checkpoint(&states);
    saved_ = true;
  }

  // Rank 0 writes, the others hand it their parts.
  void save_model(const std::string& folder) {
    trainer_.save(leads() ? &folder : nullptr, &prepared_.files, recipe_.model.model_name_or_path);
  }

  RunSummary summary(bool stopped) const {
    RunSummary summary;
    summary.steps = state_.step;
    summary.stopped = stopped;
    summary.checkpoint = checkpoints_.latest();
    summary.seconds = seconds_before_ + seconds_since(begin_);
    summary.first_loss = mean(state_.first_losses);
    summary.last_loss = mean(state_.last_losses);
    summary.eval_loss = state_.eval_loss;
    summary.trained_tokens = state_.trained_tokens;
    return summary;
  }

  const PreparedRun& prepared_;
  const Recipe& recipe_;
  const Sampler& sampler_;
  Arena& arena_;
  TrainObserver& observer_;
  std::unique_ptr<PageFile> pages_;
  Trainer trainer_;
  RunCheckpoints checkpoints_;
  TrainerState state_;
  double seconds_before_ = 0;  // of the processes that this one goes on from
  Clock::time_point begin_;
  bool saved_ = false;  // states, by this process
  bool stopping_ = false;
};

}  // namespace

RunSummary run_training(const PreparedRun& run, Backend& backend, Arena& arena,
                        TrainObserver& observer, Communicator* ranks) {
  return Run(run, backend, arena, observer, ranks).run();
}

}  // namespace cairn
