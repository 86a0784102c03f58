// Drawing progress. A terminal's line is redrawn with a carriage return and "erase to the end of
// the line"; whatever is not a terminal never sees an escape.
#include "report/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "base/bytes.h"
#include "report/figures.h"

namespace cairn {
namespace {

constexpr int kWidestBar = 30;
constexpr int kNarrowestBar = 5;

std::string tokens_per_second(const StepReport& report) {
  return format_count(static_cast<int64_t>(report.tokens_per_second));
}

}  // namespace

std::string progress_line(const StepReport& report) {
  std::string line = fmt::format("step {}/{}  epoch {:.2f}  loss {:.4f}  lr {:.2e}  grad {:.3f}",
                                 report.step, report.total_steps, report.epoch, report.loss,
                                 report.learning_rate, report.gradient_norm);
  line += fmt::format("  {} tokens/s  {}  elapsed {}  left {}", tokens_per_second(report),
                      format_bytes(report.bytes_in_use), format_duration(report.seconds_elapsed),
                      format_duration(report.seconds_left));
  if (report.eval_loss) line += fmt::format("  eval_loss {:.4f}", *report.eval_loss);
  return line;
}

std::string progress_bar_line(const StepReport& report, int columns) {
  const std::string count = fmt::format("{}/{}", report.step, report.total_steps);
  // Most important first; what does not fit is left out whole, never cut.
  std::string rest;
  for (const std::string& field :
       {fmt::format("loss {:.4f}", report.loss),
        fmt::format("left {}", format_duration(report.seconds_left)),
        fmt::format("lr {:.1e}", report.learning_rate),
        fmt::format("{} tokens/s", tokens_per_second(report)), format_bytes(report.bytes_in_use)}) {
    if (static_cast<int>(count.size() + rest.size() + field.size()) + 2 > columns) break;
    rest += "  " + field;
  }
  const int free = columns - static_cast<int>(count.size() + rest.size()) - 3;
  if (free < kNarrowestBar)
    return (count + rest).substr(0, static_cast<size_t>(std::max(columns, 0)));
  return fmt::format(
      "{} [{}]{}", count,
      format_bar(static_cast<double>(report.step), static_cast<double>(report.total_steps),
                 std::min(free, kWidestBar)),
      rest);
}

Progress::Progress(std::ostream& stream, ProgressOptions options)
    : stream_(stream), options_(options) {
  options_.logging_steps = std::max<int64_t>(options_.logging_steps, 1);
}

Progress::~Progress() { end(); }

void Progress::end() {
  if (!line_.empty()) stream_ << '\n' << std::flush;
  line_.clear();
}

void Progress::report(const StepReport& report) {
  if (options_.is_terminal) {
    // One column stays free: a full line makes some terminals scroll.
    line_ = progress_bar_line(report, options_.columns - 1);
    if (report.eval_loss)
      say(fmt::format("step {}: eval_loss {:.4f}", report.step, *report.eval_loss));
    else
      redraw();
    return;
  }
  const bool is_told = report.step % options_.logging_steps == 0 ||
                       report.step == report.total_steps || report.eval_loss.has_value() ||
                       (report.step == 1 && options_.logging_first_step);
  if (is_told) say(progress_line(report));
}

void Progress::say(std::string_view text) {
  if (!line_.empty()) stream_ << "\r\x1b[K";
  stream_ << text << '\n';
  redraw();
}

void Progress::redraw() {
  if (!line_.empty()) stream_ << '\r' << line_ << "\x1b[K";
  stream_ << std::flush;
}

}  // namespace cairn
