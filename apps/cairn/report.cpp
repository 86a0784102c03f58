// cairn report: the runs of one or more output folders side by side, as a table and a picture.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "commands.h"
#include "picture.h"
#include "readable.h"
#include "report/run_record.h"
#include "report/table.h"
#include "streams.h"

namespace cairn::program {
namespace {

struct Options {
  std::vector<std::string> folders;
  std::string picture, title = "losses";
  bool json = false;
};

std::optional<double> last_of(const std::vector<LossPoint>& points) {
  if (points.empty() || !std::isfinite(points.back().loss)) return std::nullopt;
  return points.back().loss;
}

std::string text_of(std::optional<double> loss) {
  return loss ? fmt::format("{:.4f}", *loss) : "-";
}

// By how much the run's last evaluation is above that of the first run, or nothing.
std::optional<double> excess(const RunRecord& run, const RunRecord& first) {
  const auto loss = last_of(run.evaluation), least = last_of(first.evaluation);
  if (!loss || !least) return std::nullopt;
  return *loss / *least - 1;
}

Table make_table(const std::vector<RunRecord>& runs) {
  Table table({{"run"},
               {"steps", Align::right},
               {"training loss", Align::right},
               {"evaluation loss", Align::right},
               {"over the first", Align::right},
               {"tokens/s", Align::right},
               {"peak", Align::right}});
  for (const RunRecord& run : runs) {
    const auto over = excess(run, runs.front());
    table.add_row({run.name,
                   run.training.empty() ? "0" : fmt::format("{}", run.training.back().step),
                   text_of(last_of(smoothed(run.training))), text_of(last_of(run.evaluation)),
                   over ? fmt::format("{:+.2f} %", 100 * *over) : "-",
                   fmt::format("{:.0f}", run.tokens_per_second),
                   run.peak_bytes ? format_bytes(*run.peak_bytes) : "-"});
  }
  return table;
}

nlohmann::ordered_json to_json(const std::vector<LossPoint>& points) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const LossPoint& point : points) list.push_back({point.step, point.loss});
  return list;
}

nlohmann::ordered_json to_json(const RunRecord& run, const RunRecord& first) {
  nlohmann::ordered_json json = {{"run", run.name},
                                 {"training", to_json(run.training)},
                                 {"evaluation", to_json(run.evaluation)},
                                 {"tokens_per_second", run.tokens_per_second}};
  if (const auto over = excess(run, first)) json["evaluation_over_the_first"] = *over;
  if (run.peak_bytes) json["peak_bytes"] = *run.peak_bytes;
  return json;
}

int run_report(const Options& options) {
  std::vector<RunRecord> runs;
  for (const std::string& folder : options.folders) {
    runs.push_back(read_run_record(folder));
    runs.back().name = readable(runs.back().name);  // neither JSON nor SVG take any other bytes
  }
  if (!options.picture.empty()) {
    write_picture(options.picture, run_comparison_svg(options.title, runs));
    tell("wrote {}\n", options.picture);
  }
  if (!options.json) {
    fmt::print("{}", make_table(runs).to_string());
    return kDone;
  }
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const RunRecord& run : runs) list.push_back(to_json(run, runs.front()));
  fmt::print("{}\n", nlohmann::ordered_json{{"runs", list}}.dump(2));
  return kDone;
}

}  // namespace

Command add_report(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("folders", options->folders, "output folders of runs; the first is compared with")
      ->required();
  app.add_option("--picture", options->picture, "an SVG file to draw the losses into");
  app.add_option("--title", options->title, "of the picture");
  app.add_flag("--json", options->json, "one JSON object on stdout");
  return [options] { return run_report(*options); };
}

}  // namespace cairn::program
