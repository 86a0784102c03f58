#include "run_reporter.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <iostream>

#include "files/atomic_file.h"

namespace cairn::program {
namespace {

ProgressOptions progress_options(const Recipe& recipe, int64_t logging_steps) {
  ProgressOptions options;
  options.is_terminal = isatty(STDERR_FILENO) == 1;
  winsize size{};
  if (options.is_terminal && ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    options.columns = size.ws_col;
  options.logging_steps = logging_steps;
  options.logging_first_step = recipe.output.logging_first_step;
  return options;
}

StepReport report_of(const StepRecord& record, int64_t total_tokens) {
  StepReport report;
  report.step = record.step;
  report.total_steps = record.total_steps;
  report.epoch = record.epoch;
  report.loss = record.outcome.loss;
  report.learning_rate = record.learning_rate;
  report.gradient_norm = record.outcome.gradient_norm;
  report.tokens_per_second = static_cast<double>(record.outcome.tokens) / record.seconds;
  report.total_tokens = total_tokens;
  report.seconds_elapsed = record.seconds_elapsed;
  report.seconds_left = record.seconds_elapsed / static_cast<double>(record.step) *
                        static_cast<double>(record.total_steps - record.step);
  report.bytes_in_use = record.bytes_in_use;
  report.eval_loss = record.eval_loss;
  return report;
}

}  // namespace

RunReporter::RunReporter(const Recipe& recipe, int64_t total_steps)
    : recipe_(recipe),
      logging_steps_(resolve_steps(recipe.output.logging_steps, total_steps)),
      progress_(std::cerr, progress_options(recipe, logging_steps_)),
      log_(recipe.output.output_dir + "/" + kTrainerLog) {}

void RunReporter::on_loaded(const std::vector<std::string>& unused_tensors) {
  for (const std::string& name : unused_tensors)
    progress_.say("note: tensor '" + name + "' of the model's files has no use here");
}

// The log's loss is the mean since the line before it, as transformers writes it.
void RunReporter::on_step(const StepRecord& record) {
  total_tokens_ += record.outcome.tokens;
  StepReport report = report_of(record, total_tokens_);
  training_.add({report.step, report.loss});
  if (report.eval_loss) evaluation_.add({report.step, *report.eval_loss});
  progress_.report(report);
  loss_since_log_ += record.outcome.loss;
  ++steps_since_log_;
  const bool first = record.step == 1 && recipe_.output.logging_first_step;
  if (!first && record.step % logging_steps_ != 0 && record.step != record.total_steps &&
      !record.eval_loss)
    return;
  report.loss = loss_since_log_ / static_cast<double>(steps_since_log_);
  loss_since_log_ = 0;
  steps_since_log_ = 0;
  log_.write(report);
}

void RunReporter::finish() {
  progress_.end();
  if (!recipe_.output.plot_loss) return;
  const LossCurve curve{recipe_.output.output_dir, training_.points(), evaluation_.points()};
  write_text(recipe_.output.output_dir + "/" + kLossCurve, loss_curve_svg(curve));
}

}  // namespace cairn::program
