#include "run_reporter.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "files/atomic_file.h"
#include "files/json_file.h"
#include "readable.h"
#include "stop_signal.h"

namespace cairn::program {
namespace {

// Of a checkpoint: what the reporter counts.
constexpr const char* kProgress = "progress.json";

nlohmann::json to_json(const LossPoint& point) {
  return nlohmann::json::array({point.step, point.loss});  // a loss that is not finite: null
}

LossPoint point_of(const nlohmann::json& json) {
  return {integer_of(json.at(0)), json.at(1).is_null() ? NAN : json.at(1).get<double>()};
}

nlohmann::json to_json(const LossSeries& series) {
  const LossSeries::State& state = series.state();
  nlohmann::json points = nlohmann::json::array();
  for (const LossPoint& point : state.points) points.push_back(to_json(point));
  return {{"points", points},
          {"low", to_json(state.low)},
          {"high", to_json(state.high)},
          {"in_group", state.in_group},
          {"group", state.group}};
}

LossSeries series_of(const nlohmann::json& json) {
  LossSeries::State state;
  for (const nlohmann::json& point : json.at("points")) state.points.push_back(point_of(point));
  state.low = point_of(json.at("low"));
  state.high = point_of(json.at("high"));
  state.in_group = integer_of(json.at("in_group"));
  state.group = integer_of(json.at("group"));
  return LossSeries(std::move(state));
}

std::string text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

// The log's path. Where a run goes on, the lines of its checkpoint are all that the file holds:
// later ones will be written again.
std::string make_log(const PreparedRun& run) {
  const std::string path = run.recipe.output.output_dir + "/" + kTrainerLog;
  if (run.resume) write_text(path, text_of(run.resume->folder + "/" + kTrainerLog));
  return path;
}

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

RunReporter::RunReporter(const PreparedRun& run)
    : run_(run),
      recipe_(run.recipe),
      logging_steps_(resolve_steps(run.recipe.output.logging_steps, run.sampler->steps())),
      progress_(std::cerr, progress_options(run.recipe, logging_steps_)),
      told_(told_before(run)) {}

RunReporter::Told RunReporter::told_before(const PreparedRun& run) {
  Told told;
  // A checkpoint of a run that nobody watched has none.
  if (!run.resume || !std::filesystem::exists(run.resume->folder + "/" + kProgress)) return told;
  const nlohmann::json json = read_json_object(run.resume->folder + "/" + kProgress);
  told.total_tokens = integer_of(json.at("total_tokens"));
  told.loss_since_log = json.at("loss_since_log").get<double>();
  told.steps_since_log = integer_of(json.at("steps_since_log"));
  told.training = series_of(json.at("training"));
  told.evaluation = series_of(json.at("evaluation"));
  return told;
}

void RunReporter::save_state(const std::string& folder) {
  write_text(folder + "/" + kTrainerLog, text_of(recipe_.output.output_dir + "/" + kTrainerLog));
  const nlohmann::json json = {{"total_tokens", told_.total_tokens},
                               {"loss_since_log", told_.loss_since_log},
                               {"steps_since_log", told_.steps_since_log},
                               {"training", to_json(told_.training)},
                               {"evaluation", to_json(told_.evaluation)}};
  write_text(folder + "/" + kProgress, json.dump() + "\n");
}

bool RunReporter::wants_stop() { return stop_was_asked(); }

void RunReporter::on_loaded(const std::vector<std::string>& unused_tensors) {
  write_text(recipe_.output.output_dir + "/" + kResolvedRecipe, to_yaml(recipe_));
  log_.emplace(make_log(run_), run_.resume.has_value());
  constexpr size_t kNamed = 5;
  const size_t count = unused_tensors.size(), named = count > kNamed + 1 ? kNamed : count;
  for (size_t i = 0; i < named; ++i)
    progress_.say("note: tensor '" + readable(unused_tensors[i]) +
                  "' of the model's files has no use here");
  if (named < count)
    progress_.say(fmt::format("note: nor have {} more tensors, such as those of further layers",
                              count - named));
}

// The log's loss is the mean since the line before it, as transformers writes it.
void RunReporter::on_step(const StepRecord& record) {
  told_.total_tokens += record.outcome.tokens;
  StepReport report = report_of(record, told_.total_tokens);
  told_.training.add({report.step, report.loss});
  if (report.eval_loss) told_.evaluation.add({report.step, *report.eval_loss});
  progress_.report(report);
  told_.loss_since_log += record.outcome.loss;
  ++told_.steps_since_log;
  const bool first = record.step == 1 && recipe_.output.logging_first_step;
  if (!first && record.step % logging_steps_ != 0 && record.step != record.total_steps &&
      !record.eval_loss)
    return;
  report.loss = told_.loss_since_log / static_cast<double>(told_.steps_since_log);
  told_.loss_since_log = 0;
  told_.steps_since_log = 0;
  log_->write(report);
}

void RunReporter::finish() {
  progress_.end();
  if (!recipe_.output.plot_loss) return;
  const LossCurve curve{recipe_.output.output_dir, told_.training.points(),
                        told_.evaluation.points()};
  write_text(recipe_.output.output_dir + "/" + kLossCurve, loss_curve_svg(curve));
}

}  // namespace cairn::program
