// cairn bench checkpointing: what each policy keeps, what it computes twice, and what that costs in
// a measured step, beside the bound that the products computed twice allow; and what the plan picks
// for budgets between the leanest policy and the fastest.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/bytes.h"
#include "base/error.h"
#include "bench.h"
#include "machine_rates.h"
#include "measured_step.h"
#include "plan/choose_policy.h"
#include "plan/plan.h"
#include "report/table.h"
#include "train/engine.h"

namespace cairn::program {
namespace {

int64_t activations_of(const Rehearsal& rehearsal) {
  return rehearsal.snapshot.peaks_of_accounts()[static_cast<size_t>(Account::activations)];
}

// One policy of one step.
struct Row {
  std::string policy;
  Rehearsal rehearsal;
  double recomputed = 0;                 // products computed twice, of those of the plain step
  std::optional<MeasuredStep> measured;  // none if it was only rehearsed, or does not fit here
  double cost = 0;                       // measured: seconds more than the plain step
};

// All policies of one method and shape.
class Comparison {
 public:
  Comparison(const BenchOptions& options, const std::string& method, const std::string& shape,
             Backend& backend)
      : options_(options), backend_(backend), profile_(with_stored_rates(backend.profile())) {
    const ModelConfig config = find_model_config(options.model, ".");
    batch_ = make_random_batch(parse_shape(shape), config.vocab);
    spec_ = make_bench_spec(config, method, batch_);
    selected_ = choose_selective(spec_, profile_);
    plain_flops_ = rehearse(spec_, 1, profile_).step_work.gemm_flops;
  }

  Row make_row(const std::string& words) {
    const auto choice = parse_policy(words);
    if (!choice || choice->is_auto())
      throw UserError(fmt::format("--policies: '{}' is none of {}", words, policy_words()));
    TrainSpec spec = spec_;
    spec.checkpointing = make_policy(*choice, spec.model.config.num_layers, selected_);
    return make_row(words, spec);
  }
  // Every tool at its leanest setting.
  Row make_row_of_everything_on() {
    TrainSpec spec = spec_;
    spec.checkpointing = make_policy(*parse_policy("nested"), spec.model.config.num_layers);
    spec.model.mlp_tile = 256;
    spec.model.loss_chunk = 64;
    return make_row("nested, mlp_tile 256, loss_chunk 64", spec);
  }
  ChosenPolicy choose(int64_t budget_bytes) const {
    return choose_policy(spec_, selected_, 1, profile_, budget_bytes);
  }

 private:
  Row make_row(const std::string& words, const TrainSpec& spec) {
    Row row;
    row.policy = words;
    row.rehearsal = rehearse(spec, 1, profile_);
    row.recomputed = row.rehearsal.step_work.gemm_flops / plain_flops_ - 1;
    if (options_.rehearse) return row;
    try {
      row.measured = measure_step(spec, batch_, options_.repeats, backend_);
    } catch (const OutOfBudget&) {
      return row;
    }
    if (!plain_share_) plain_share_ = row.measured->share();
    row.cost = *plain_share_ / row.measured->share() - 1;
    return row;
  }

  const BenchOptions& options_;
  Backend& backend_;
  TargetProfile profile_;
  Batch batch_;
  TrainSpec spec_;
  MemberSet selected_;
  double plain_flops_ = 0;
  std::optional<double> plain_share_;  // of the first policy measured
};

std::vector<std::string> cells_of(const Row& row) {
  const int64_t paged = row.rehearsal.snapshot.peak[static_cast<size_t>(Place::page)];
  std::vector<std::string> cells = {row.policy,
                                    format_bytes(activations_of(row.rehearsal)),
                                    format_bytes(row.rehearsal.arena_bytes()),
                                    paged > 0 ? format_bytes(paged) : "",
                                    fmt::format("{:.1f} %", 100 * row.recomputed),
                                    fmt::format("{:.2f}", row.rehearsal.step_seconds)};
  if (!row.measured) return cells;
  cells.push_back(fmt::format("{:.2f}", row.measured->step_seconds));
  cells.push_back(fmt::format("{:+.1f} %", 100 * row.cost));
  cells.push_back(row.measured->as_predicted() ? "equal" : "differs");
  return cells;
}

nlohmann::ordered_json to_json(const Row& row) {
  nlohmann::ordered_json json = {
      {"policy", row.policy},
      {"activations_bytes", activations_of(row.rehearsal)},
      {"arena_bytes", row.rehearsal.arena_bytes()},
      {"page_bytes", row.rehearsal.snapshot.peak[static_cast<size_t>(Place::page)]},
      {"recomputed_share", row.recomputed},
      {"rehearsed_seconds", row.rehearsal.step_seconds}};
  if (!row.measured) return json;
  json["cost"] = row.cost;
  json["measured"] = to_json(*row.measured);
  return json;
}

Table make_policy_table(bool measured) {
  std::vector<Table::Column> columns = {{"policy"},
                                        {"activations", Align::right},
                                        {"arena", Align::right},
                                        {"page file", Align::right},
                                        {"computed twice", Align::right},
                                        {"rehearsed s", Align::right}};
  if (measured) {
    columns.push_back({"measured s", Align::right});
    columns.push_back({"cost", Align::right});
    columns.push_back({"peak"});
  }
  return Table(std::move(columns));
}

// The fastest row that fits: by measured cost, or by rehearsed seconds.
const Row* best_within(const std::vector<Row>& rows, int64_t budget, bool measured) {
  const auto time_of = [&](const Row& row) {
    return measured ? row.cost : row.rehearsal.step_seconds;
  };
  const Row* best = nullptr;
  for (const Row& row : rows)
    if (row.rehearsal.arena_bytes() <= budget && (!measured || row.measured) &&
        (!best || time_of(row) < time_of(*best)))
      best = &row;
  return best;
}

// For budgets from the leanest policy to the fastest: what the plan picks beside the best by hand.
nlohmann::ordered_json compare_auto(Comparison& comparison, const std::vector<Row>& rows,
                                    const BenchOptions& options, std::string& text) {
  const auto by_arena = [](const Row& a, const Row& b) {
    return a.rehearsal.arena_bytes() < b.rehearsal.arena_bytes();
  };
  const auto [least, most] = std::minmax_element(rows.begin(), rows.end(), by_arena);
  const int64_t low = least->rehearsal.arena_bytes(), high = most->rehearsal.arena_bytes();
  Table table({{"budget", Align::right},
               {"the plan's pick"},
               {"best by hand"},
               {"rehearsed", Align::right},
               {"measured", Align::right}});
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  std::map<std::string, Row> picked;
  for (const Row& row : rows) picked.emplace(row.policy, row);
  for (int i = 0; i < options.budgets; ++i) {
    const int64_t budget = low + (high - low) * i / std::max(1, options.budgets - 1);
    const std::string words = to_string(comparison.choose(budget).choice);
    if (!picked.contains(words)) picked.emplace(words, comparison.make_row(words));
    const Row& pick = picked.at(words);
    const Row& rehearsed_best = *best_within(rows, budget, false);
    const double rehearsed = pick.rehearsal.step_seconds / rehearsed_best.rehearsal.step_seconds;
    const Row* measured_best = best_within(rows, budget, true);
    const bool is_measured = pick.measured && measured_best;
    const double measured = is_measured ? (1 + pick.cost) / (1 + measured_best->cost) : 0;
    table.add_row(
        {format_bytes(budget), words, (is_measured ? *measured_best : rehearsed_best).policy,
         fmt::format("{:.3f}", rehearsed), is_measured ? fmt::format("{:.3f}", measured) : ""});
    list.push_back({{"budget_bytes", budget},
                    {"pick", words},
                    {"best_by_hand", (is_measured ? *measured_best : rehearsed_best).policy},
                    {"rehearsed_ratio", rehearsed}});
    if (is_measured) list.back()["measured_ratio"] = measured;
  }
  text += table.to_string() +
          "ratios: seconds of the plan's pick over those of the best policy by hand that fits\n\n";
  return list;
}

// Everything turned on, and what the plan picks within the memory that it needs or `block` does.
nlohmann::ordered_json compare_everything_on(Comparison& comparison, const BenchOptions& options,
                                             std::string& text) {
  const Row everything = comparison.make_row_of_everything_on();
  const Row block = comparison.make_row("block");
  const int64_t budget =
      std::max(everything.rehearsal.arena_bytes(), block.rehearsal.arena_bytes());
  const Row pick = comparison.make_row(to_string(comparison.choose(budget).choice));
  Table table = make_policy_table(!options.rehearse);
  table.add_row(cells_of(everything));
  table.add_row(cells_of(pick));
  text += fmt::format("everything turned on, and the plan's pick, within {}\n{}\n",
                      format_bytes(budget), table.to_string());
  return {
      {"budget_bytes", budget}, {"everything_on", to_json(everything)}, {"pick", to_json(pick)}};
}

}  // namespace

int bench_checkpointing(const BenchOptions& options) {
  const std::unique_ptr<Backend> backend = open_backend("cpu", options.threads);
  warm_up(*backend);
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  std::string text;
  for (const std::string& method : options.methods)
    for (const std::string& shape : options.shapes) {
      Comparison comparison(options, method, shape, *backend);
      Table table = make_policy_table(!options.rehearse);
      std::vector<Row> rows;
      nlohmann::ordered_json policies = nlohmann::ordered_json::array();
      for (const std::string& words : options.policies) {
        rows.push_back(comparison.make_row(words));
        table.add_row(cells_of(rows.back()));
        policies.push_back(to_json(rows.back()));
      }
      text += fmt::format("{} {} {}\n{}\n", options.model, method, shape, table.to_string());
      nlohmann::ordered_json entry = {{"method", method}, {"shape", shape}, {"policies", policies}};
      if (options.budgets > 0) {
        entry["auto"] = compare_auto(comparison, rows, options, text);
        entry["everything_on"] = compare_everything_on(comparison, options, text);
      }
      list.push_back(std::move(entry));
    }
  if (options.json)
    fmt::print("{}\n", nlohmann::ordered_json{{"model", options.model},
                                              {"threads", backend->profile().threads},
                                              {"steps", list}}
                           .dump(2));
  else
    fmt::print(
        "{}computed twice: products, of those of a step without recomputation, the least that a "
        "policy can cost; cost: measured, medians of {}, each in turns with a product; {} "
        "threads\n",
        text, options.repeats, backend->profile().threads);
  return kDone;
}

}  // namespace cairn::program
