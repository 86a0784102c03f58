// cairn bench sharding: steps under stage 3 on the ranks of one process, with the next unit
// gathered while this one computes, and without, in turns: how long transfers take and how much of
// that is hidden.
#include <fmt/format.h>

#include <chrono>
#include <exception>
#include <thread>

#include "base/bytes.h"
#include "bench.h"
#include "comm/registry.h"
#include "measured_step.h"
#include "median.h"
#include "plan/plan.h"
#include "plan/rehearse.h"
#include "report/table.h"

namespace cairn::program {
namespace {

using Clock = std::chrono::steady_clock;

// Medians over steps, of rank 0.
struct Row {
  bool overlap = false;
  double step_seconds = 0, transfer_seconds = 0, waited_seconds = 0;
  int64_t sent_bytes = 0;  // in a step
  int64_t workspace_bytes = 0;
  int most_gathered = 0;

  double hidden() const {
    return transfer_seconds > 0 ? std::max(0.0, 1 - waited_seconds / transfer_seconds) : 0;
  }
};

struct Samples {
  std::vector<double> step, transfer, waited;
};

// One rank's whole run of one of the two ways.
class RankRun {
 public:
  RankRun(TrainSpec spec, World world, bool overlap) : spec_(std::move(spec)) {
    spec_.world = world;
    spec_.sharding.stage = 3;
    spec_.sharding.overlap = overlap;
  }

  void run(const Batch& batch, int repeats, Communicator& ranks, Row& row) {
    const auto backend = open_backend("cpu", 1);
    const Rehearsal rehearsal = rehearse(spec_, 1, backend->profile());
    Ledger ledger;
    Arena arena(backend->device(), ledger, rehearsal.layout);
    arena.prefault();
    Trainer trainer(*backend, arena, spec_, nullptr, &ranks);
    trainer.load({});
    const std::vector<Batch> step = {batch};
    trainer.step(step, 1e-4);
    Samples samples;
    for (int i = 0; i < repeats; ++i) {
      ranks.barrier();
      ranks.reset_traffic();
      const double busy = ranks.busy_seconds(), waited = ranks.waited_seconds();
      const auto begin = Clock::now();
      trainer.step(step, 1e-4);
      samples.step.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
      samples.transfer.push_back(ranks.busy_seconds() - busy);
      samples.waited.push_back(ranks.waited_seconds() - waited);
    }
    row.overlap = spec_.sharding.overlap;
    row.step_seconds = median(samples.step);
    row.transfer_seconds = median(samples.transfer);
    row.waited_seconds = median(samples.waited);
    row.sent_bytes = ranks.traffic().bytes();
    row.workspace_bytes =
        ledger.snapshot().peaks_of_accounts()[static_cast<size_t>(Account::workspace)];
    row.most_gathered = trainer.sharding().gathered()->most_whole();
  }

 private:
  TrainSpec spec_;
};

Row measure(const TrainSpec& spec, const Batch& batch, int size, bool overlap, int repeats) {
  auto ranks = open_thread_ranks(size, std::chrono::minutes(30));
  std::vector<Row> rows(ranks.size());
  std::vector<std::exception_ptr> errors(ranks.size());
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < rows.size(); ++rank)
    threads.emplace_back([&, rank] {
      const auto own = std::move(ranks[rank]);
      try {
        RankRun(spec, own->world(), overlap).run(batch, repeats, *own, rows[rank]);
      } catch (...) {
        errors[rank] = std::current_exception();
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
  return rows[0];
}

nlohmann::ordered_json to_json(const Row& row) {
  return {{"overlap", row.overlap},
          {"step_seconds", row.step_seconds},
          {"transfer_seconds", row.transfer_seconds},
          {"waited_seconds", row.waited_seconds},
          {"hidden_share", row.hidden()},
          {"sent_bytes", row.sent_bytes},
          {"workspace_bytes", row.workspace_bytes},
          {"most_gathered_units", row.most_gathered}};
}

}  // namespace

int bench_sharding(const BenchOptions& options) {
  const ModelConfig config = find_model_config(options.model, ".");
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  std::string text;
  for (const std::string& method : options.methods)
    for (const std::string& shape : options.shapes) {
      const Batch batch = make_random_batch(parse_shape(shape), config.vocab);
      TrainSpec spec = make_bench_spec(config, method, batch, options.keys);
      Table table({{"the next unit"},
                   {"s a step", Align::right},
                   {"s of transfers", Align::right},
                   {"s waited", Align::right},
                   {"hidden", Align::right},
                   {"sent", Align::right},
                   {"workspace", Align::right},
                   {"whole units", Align::right}});
      nlohmann::ordered_json rows = nlohmann::ordered_json::array();
      for (const bool overlap : {true, false}) {
        const Row row = measure(spec, batch, options.ranks, overlap, options.repeats);
        table.add_row(
            {overlap ? "gathered ahead" : "when it is due", fmt::format("{:.3f}", row.step_seconds),
             fmt::format("{:.3f}", row.transfer_seconds), fmt::format("{:.3f}", row.waited_seconds),
             fmt::format("{:.0f} %", 100 * row.hidden()), format_bytes(row.sent_bytes),
             format_bytes(row.workspace_bytes), fmt::format("{}", row.most_gathered)});
        rows.push_back(to_json(row));
      }
      text += fmt::format("{} {} {}, stage 3 on {} ranks of one thread\n{}\n", options.model,
                          method, shape, options.ranks, table.to_string());
      list.push_back({{"model", options.model},
                      {"method", method},
                      {"shape", shape},
                      {"ranks", options.ranks},
                      {"runs", std::move(rows)}});
    }
  if (options.json)
    fmt::print("{}\n", nlohmann::ordered_json{{"sharding", std::move(list)}}.dump(2));
  else
    fmt::print("{}", text);
  return kDone;
}

}  // namespace cairn::program
