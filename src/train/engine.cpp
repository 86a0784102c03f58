#include "train/engine.h"

#include <algorithm>
#include <chrono>

#include "files/page_file.h"

namespace cairn {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Mean loss over the labelled tokens of all batches.
double evaluate(Trainer& trainer, const std::vector<Batch>& batches) {
  double sum = 0;
  int64_t tokens = 0;
  for (const Batch& batch : batches) {
    sum += trainer.evaluate(batch);
    tokens += batch.labelled();
  }
  return sum / static_cast<double>(std::max<int64_t>(1, tokens));
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
  Run(const PreparedRun& prepared, Backend& backend, Arena& arena, TrainObserver& observer)
      : prepared_(prepared),
        recipe_(prepared.recipe),
        arena_(arena),
        observer_(observer),
        pages_(open_pages(prepared)),
        trainer_(backend, arena, prepared.spec, pages_.get()),
        eval_batches_(make_eval_batches(prepared.data.validation,
                                        recipe_.train.per_device_eval_batch_size)) {}

  RunSummary run() {
    observer_.on_loaded(trainer_.load({prepared_.files.weights.get(), prepared_.adapter.get()}));
    const auto begin = Clock::now();
    const Sampler& sampler = *prepared_.sampler;
    for (int64_t step = 0; step < sampler.steps(); ++step) one_step(step, begin);
    save(recipe_.output.output_dir);
    summary_.steps = sampler.steps();
    summary_.seconds = seconds_since(begin);
    return summary_;
  }

 private:
  void one_step(int64_t index, Clock::time_point begin) {
    const Sampler& sampler = *prepared_.sampler;
    const auto step_begin = Clock::now();
    std::vector<Batch> batches;
    for (const MicroBatch& micro_batch : sampler.step(index))
      batches.push_back(make_batch(prepared_.data.train, micro_batch));

    StepRecord record;
    record.step = index + 1;
    record.total_steps = sampler.steps();
    record.epoch =
        static_cast<double>(record.step) / static_cast<double>(sampler.steps_per_epoch());
    record.learning_rate = prepared_.schedule.learning_rate(index);
    record.outcome = trainer_.step(batches, record.learning_rate);
    record.seconds = seconds_since(step_begin);
    const bool last = record.step == record.total_steps;
    if (!eval_batches_.empty() && (last || is_due(recipe_.train.eval_strategy,
                                                  recipe_.train.eval_steps, record.step, sampler)))
      record.eval_loss = evaluate(trainer_, eval_batches_);
    record.seconds_elapsed = seconds_since(begin);
    record.bytes_in_use = arena_.ledger().current();

    const int64_t averaged = std::min(record.total_steps, RunSummary::kSummarySteps);
    const double share = record.outcome.loss / static_cast<double>(averaged);
    if (index < averaged) summary_.first_loss += share;
    if (record.total_steps - index <= averaged) summary_.last_loss += share;
    if (record.eval_loss) summary_.eval_loss = record.eval_loss;
    summary_.trained_tokens += record.outcome.labelled_tokens;
    observer_.on_step(record);
    if (!last &&
        is_due(recipe_.output.save_strategy, recipe_.output.save_steps, record.step, sampler))
      save(recipe_.output.output_dir + "/checkpoint-" + std::to_string(record.step));
  }

  void save(const std::string& folder) {
    make_folder(folder);
    trainer_.save(&folder, &prepared_.files, recipe_.model.model_name_or_path);
  }

  const PreparedRun& prepared_;
  const Recipe& recipe_;
  Arena& arena_;
  TrainObserver& observer_;
  std::unique_ptr<PageFile> pages_;
  Trainer trainer_;
  std::vector<Batch> eval_batches_;
  RunSummary summary_;
};

}  // namespace

RunSummary run_training(const PreparedRun& run, Backend& backend, Arena& arena,
                        TrainObserver& observer) {
  return Run(run, backend, arena, observer).run();
}

}  // namespace cairn
