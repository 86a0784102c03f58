// Progress of a run for whoever watches it: on a terminal one line that is redrawn, elsewhere plain
// lines every logging_steps, so that a log stays readable. It writes to the stream it is given.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>

#include "report/step_report.h"

namespace cairn {

struct ProgressOptions {
  bool is_terminal = false;
  int columns = 100;          // of the terminal; the line never wraps
  int64_t logging_steps = 1;  // plain lines only
  bool logging_first_step = false;
};

class Progress {
 public:
  Progress(std::ostream& stream, ProgressOptions options);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Plain lines: the step is told if logging_steps divides it, if it is the last, if it was
  // evaluated, or if it is the first and that was asked for.
  void report(const StepReport& report);
  // A line of its own; the redrawn line moves below it.
  void say(std::string_view text);
  // Leaves the redrawn line as it is; what is written next begins a line.
  void end();

 private:
  void redraw();

  std::ostream& stream_;
  ProgressOptions options_;
  std::string line_;  // what is drawn now; empty: nothing
};

// "step 10/180  loss 1.2345  lr 9.8e-04  ..."
std::string progress_line(const StepReport& report);
// "10/180 [###.......]  loss 1.2345 ...", at most `columns` wide: the bar gives way first.
std::string progress_bar_line(const StepReport& report, int columns);

}  // namespace cairn
