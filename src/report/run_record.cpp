#include "report/run_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace cairn {
namespace {

nlohmann::json parse_object(const std::string& text, const std::string& name) {
  nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object())
    throw DamagedFile(fmt::format(
        "{} is no JSON object; the file was cut or edited, or is not one of a run", name));
  return json;
}

// A loss that was not finite is logged as null.
double loss_of(const nlohmann::json& value) {
  return value.is_number() ? value.get<double>() : std::nan("");
}

int64_t step_of(const nlohmann::json& line, const std::string& name) {
  const auto step = line.find("current_steps");
  if (step == line.end() || !step->is_number_integer())
    throw DamagedFile(fmt::format("{} has no number 'current_steps'", name));
  return step->get<int64_t>();
}

void read_log(const std::string& path, RunRecord& run) {
  std::ifstream file(path);
  if (!file)
    throw UserError(fmt::format(
        "'{}' cannot be read; give the output_dir of a run, which has a trainer_log.jsonl", path));
  LossSeries training, evaluation;
  std::vector<double> rates;
  int64_t number = 0;
  for (std::string text; std::getline(file, text);) {
    ++number;
    // A run that was killed may leave the beginning of a line.
    if (file.eof() && text.starts_with('{') && !text.ends_with('}')) break;
    const std::string name = fmt::format("{}, line {}", path, number);
    const nlohmann::json line = parse_object(text, name);
    const int64_t step = step_of(line, name);
    if (line.contains("loss")) training.add({step, loss_of(line["loss"])});
    if (line.contains("eval_loss")) evaluation.add({step, loss_of(line["eval_loss"])});
    if (const auto rate = line.find("throughput"); rate != line.end() && rate->is_number())
      rates.push_back(rate->get<double>());
  }
  run.training = training.points();
  run.evaluation = evaluation.points();
  if (rates.empty()) return;
  std::ranges::nth_element(rates, rates.begin() + static_cast<std::ptrdiff_t>(rates.size() / 2));
  run.tokens_per_second = rates[rates.size() / 2];
}

void read_ledger(const std::string& path, RunRecord& run) {
  std::ifstream file(path);
  if (!file) return;
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const nlohmann::json json = parse_object(text, path);
  const auto measured = json.find("measured");
  if (measured == json.end() || !measured->is_object()) return;
  const auto peak = measured->find("peak_bytes");
  if (peak != measured->end() && peak->is_number_integer()) run.peak_bytes = peak->get<int64_t>();
}

}  // namespace

RunRecord read_run_record(const std::string& folder) {
  RunRecord run;
  const std::filesystem::path path = std::filesystem::path(folder).lexically_normal();
  run.name = (path.has_filename() ? path : path.parent_path()).filename().string();
  read_log(folder + "/trainer_log.jsonl", run);
  read_ledger(folder + "/ledger.json", run);
  return run;
}

}  // namespace cairn
