// The lines of trainer_log.jsonl, spelled as LLaMA-Factory spells them, times as Python writes a
// timedelta. A loss that is not finite is written as null.
#include "report/trainer_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace cairn {
namespace {

using Json = nlohmann::ordered_json;

// As Python writes a timedelta: "0:01:05", "1 day, 2:03:04".
std::string time_text(double seconds) {
  const auto whole = static_cast<int64_t>(std::clamp(seconds, 0.0, 1e12));
  const int64_t days = whole / 86400;
  const std::string clock =
      fmt::format("{}:{:02}:{:02}", whole / 3600 % 24, whole / 60 % 60, whole % 60);
  return days == 0 ? clock : fmt::format("{} day{}, {}", days, days == 1 ? "" : "s", clock);
}

double with_decimals(double value, double power) { return std::round(value * power) / power; }

void add_times(Json& line, const StepReport& report) {
  const double share = report.total_steps > 0 ? static_cast<double>(report.step) /
                                                    static_cast<double>(report.total_steps)
                                              : 0;
  line["epoch"] = with_decimals(report.epoch, 10000);
  line["percentage"] = with_decimals(100 * share, 100);
  line["elapsed_time"] = time_text(report.seconds_elapsed);
  line["remaining_time"] = time_text(report.seconds_left);
}

}  // namespace

TrainerLog::TrainerLog(const std::filesystem::path& path, bool goes_on)
    : path_(path), file_(path, goes_on ? std::ios::app : std::ios::trunc) {
  if (!file_)
    throw UserError(
        fmt::format("'{}' cannot be written; choose an output_dir that can be", path.string()));
}

void TrainerLog::write(const StepReport& report) {
  Json line = {{"current_steps", report.step},
               {"total_steps", report.total_steps},
               {"loss", report.loss},
               {"lr", report.learning_rate}};
  add_times(line, report);
  line["throughput"] = with_decimals(report.tokens_per_second, 100);
  line["total_tokens"] = report.total_tokens;
  write_line(line.dump());
  if (!report.eval_loss) return;
  Json evaluated = {{"current_steps", report.step},
                    {"total_steps", report.total_steps},
                    {"eval_loss", *report.eval_loss}};
  add_times(evaluated, report);
  write_line(evaluated.dump());
}

void TrainerLog::write_line(const std::string& line) {
  file_ << line << '\n' << std::flush;
  if (!file_)
    throw DeviceError(
        fmt::format("'{}' cannot be written any more; is the disk full?", path_.string()));
}

}  // namespace cairn
