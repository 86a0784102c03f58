#include "ladder_output.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"
#include "report/accounts.h"
#include "report/figures.h"
#include "report/ladder_chart.h"
#include "report/table.h"

namespace cairn::program {
namespace {

int64_t of(const Snapshot::PerAccount& bytes, Account account) {
  return bytes[static_cast<size_t>(account)];
}

std::vector<Table::Column> columns_with(std::vector<Table::Column> last) {
  std::vector<Table::Column> columns = {{"rung"}};
  for (Account account : kAccounts)
    columns.push_back({std::string(name_of(account)), Align::right});
  columns.insert(columns.end(), last.begin(), last.end());
  return columns;
}

std::vector<std::string> cells_of(const Rung& rung, const Snapshot::PerAccount& bytes) {
  std::vector<std::string> cells = {rung.name};
  for (Account account : kAccounts) cells.push_back(format_bytes(of(bytes, account)));
  return cells;
}

// Large models are slow, small ones quick: three digits of either.
std::string rate_text(double rate) {
  return rate < 10    ? fmt::format("{:.2f}", rate)
         : rate < 100 ? fmt::format("{:.1f}", rate)
                      : fmt::format("{:.0f}", rate);
}

std::string rehearsed_table(const Ladder& ladder) {
  Table table(columns_with({{"needed", Align::right},
                            {"fits"},
                            {"s/step", Align::right},
                            {"useful tokens/s", Align::right}}));
  for (const Rung& rung : ladder.rungs) {
    std::vector<std::string> cells = cells_of(rung, rung.rehearsal.snapshot.accounts_at_peak());
    cells.push_back(format_bytes(ladder.needed_bytes(rung)));
    cells.push_back(ladder.fits(rung) ? "yes" : "no");
    cells.push_back(rate_text(rung.step_seconds));
    cells.push_back(rate_text(rung.tokens_per_second(rung.step_seconds)));
    table.add_row(std::move(cells));
  }
  return table.to_string();
}

std::string overflow_lines(const Ladder& ladder) {
  std::string text;
  for (const Rung& rung : ladder.rungs)
    if (const auto overflow = ladder.overflow(rung))
      text += fmt::format(
          "{} does not fit: {} are needed, {} more than the budget of {}; what overflows is {}, "
          "{}, "
          "with {} of the excess\n",
          rung.name, format_bytes(ladder.needed_bytes(rung)),
          format_bytes(ladder.needed_bytes(rung) - ladder.budget_bytes),
          format_bytes(ladder.budget_bytes), overflow->portion.name,
          format_bytes(overflow->portion.bytes), format_bytes(overflow->over_bytes));
  return text;
}

bool is_as_rehearsed(const Rung& rung, const MeasuredRung& measured) {
  const Snapshot& rehearsed = rung.rehearsal.snapshot;
  return measured.accounts == rehearsed.accounts_at_peak() &&
         measured.account_peaks == rehearsed.peaks_of_accounts();
}

std::string measured_table(const Ladder& ladder, const MeasuredRungs& measured) {
  Table table(columns_with({{"as rehearsed"},
                            {"peak resident", Align::right},
                            {"s/step", Align::right},
                            {"useful tokens/s", Align::right}}));
  for (size_t i = 0; i < ladder.rungs.size(); ++i) {
    const Rung& rung = ladder.rungs[i];
    if (!measured[i]) {
      table.add_row({rung.name, "not run"});
      continue;
    }
    std::vector<std::string> cells = cells_of(rung, measured[i]->accounts);
    cells.push_back(is_as_rehearsed(rung, *measured[i]) ? "to the byte" : "no");
    cells.push_back(format_bytes(measured[i]->peak_resident));
    cells.push_back(rate_text(measured[i]->step_seconds));
    cells.push_back(rate_text(rung.tokens_per_second(measured[i]->step_seconds)));
    table.add_row(std::move(cells));
  }
  return table.to_string();
}

nlohmann::ordered_json accounts_json(const Snapshot::PerAccount& bytes) {
  nlohmann::ordered_json object;
  for (Account account : kAccounts) object[std::string(name_of(account))] = of(bytes, account);
  return object;
}

nlohmann::ordered_json measured_json(const Rung& rung, const MeasuredRung& measured) {
  return {{"peak_bytes", measured.peak_bytes},
          {"accounts", accounts_json(measured.accounts)},
          {"account_peaks", accounts_json(measured.account_peaks)},
          {"equal", is_as_rehearsed(rung, measured)},
          {"runtime_bytes", measured.runtime_bytes},
          {"process_peak_rss_bytes", measured.peak_resident},
          {"step_seconds", measured.step_seconds},
          {"tokens_per_second", rung.tokens_per_second(measured.step_seconds)}};
}

nlohmann::ordered_json rung_json(const Ladder& ladder, const Rung& rung,
                                 const std::optional<MeasuredRung>& measured) {
  nlohmann::ordered_json json = {{"name", rung.name},
                                 {"fits", ladder.fits(rung)},
                                 {"needed_bytes", ladder.needed_bytes(rung)}};
  if (const auto overflow = ladder.overflow(rung))
    json["overflow"] = {{"account", overflow->portion.name},
                        {"bytes", overflow->portion.bytes},
                        {"over_bytes", overflow->over_bytes}};
  json.update(cairn::to_json(rung.rehearsal.snapshot));
  json["arena_bytes"] = rung.rehearsal.arena_bytes();
  json["useful_tokens"] = rung.useful_tokens;
  json["step_seconds"] = rung.step_seconds;
  json["tokens_per_second"] = rung.tokens_per_second(rung.step_seconds);
  if (measured) json["measured"] = measured_json(rung, *measured);
  return json;
}

std::string shape_text(const LadderOptions& options, const LadderShape& shape) {
  const char* method = options.method == "lora"    ? "LoRA"
                       : options.method == "qlora" ? "QLoRA"
                                                   : "full";
  return fmt::format("{}, {}, {} x {} tokens", options.model, method, shape.batch,
                     format_count(shape.sequence));
}

bool ran_any(const MeasuredRungs& measured) {
  return std::any_of(measured.begin(), measured.end(),
                     [](const auto& rung) { return rung.has_value(); });
}

}  // namespace

std::string to_text(const LadderOptions& options, const Ladder& ladder,
                    const TargetProfile& profile, const MeasuredRungs& measured) {
  const LadderShape& shape = ladder.shape;
  std::string text = fmt::format(
      "{}; samples of {} tokens in the mean, each padded to {} until they are packed; budget "
      "{}\n\n",
      shape_text(options, shape), format_count(shape.mean_sample), format_count(shape.sequence),
      format_bytes(ladder.budget_bytes));
  text += "rehearsed, at the peak\n" + rehearsed_table(ladder) + "\n" + overflow_lines(ladder);
  if (ran_any(measured)) text += "\nmeasured, at the peak\n" + measured_table(ladder, measured);
  text += fmt::format(
      "needed: with runtime, {}, alignment and placement; useful tokens: padding left "
      "out; {} threads",
      format_bytes(ladder.runtime_bytes), profile.threads);
  if (ran_any(measured))
    text += fmt::format("; measured: random weights, medians of {} steps, a process a rung",
                        options.repeats);
  return text + "\n";
}

nlohmann::ordered_json to_json(const LadderOptions& options, const Ladder& ladder,
                               const TargetProfile& profile, const MeasuredRungs& measured) {
  nlohmann::ordered_json rungs = nlohmann::ordered_json::array();
  for (size_t i = 0; i < ladder.rungs.size(); ++i)
    rungs.push_back(rung_json(ladder, ladder.rungs[i], measured[i]));
  return {{"model", options.model},
          {"method", options.method},
          {"sequence", ladder.shape.sequence},
          {"batch", ladder.shape.batch},
          {"mean_tokens", ladder.shape.mean_sample},
          {"threads", profile.threads},
          {"budget_bytes", ladder.budget_bytes},
          {"runtime_bytes", ladder.runtime_bytes},
          {"rungs", rungs}};
}

std::string to_svg(const LadderOptions& options, const Ladder& ladder,
                   const MeasuredRungs& measured) {
  LadderChart chart;
  chart.title = fmt::format("{}, samples of {} in the mean", shape_text(options, ladder.shape),
                            format_count(ladder.shape.mean_sample));
  chart.remarks_title = ran_any(measured) ? "useful tokens/s" : "useful tokens/s (rehearsed)";
  chart.budget_bytes = ladder.budget_bytes;
  for (size_t i = 0; i < ladder.rungs.size(); ++i) {
    const Rung& rung = ladder.rungs[i];
    std::string remark = "does not fit";
    if (measured[i])
      remark = rate_text(rung.tokens_per_second(measured[i]->step_seconds));
    else if (ladder.fits(rung))
      remark = rate_text(rung.tokens_per_second(rung.step_seconds)) +
               (ran_any(measured) ? " rehearsed" : "");
    chart.bars.push_back({rung.name, ladder.pile(rung), remark});
  }
  return ladder_chart_svg(chart);
}

}  // namespace cairn::program
