#include "ladder_measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "commands.h"
#include "median.h"
#include "memory/machine.h"
#include "own_process.h"
#include "train/engine.h"

namespace cairn::program {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kLearningRate = 1e-5;

MeasuredRung measure(const Rung& rung, const LadderShape& shape, int repeats, Backend& backend) {
  const Rehearsal rehearsal = rehearse(rung.spec, 1, backend.profile());
  const std::vector<Batch> step = {
      make_ladder_batch(shape, rung.packed, rung.spec.model.config.vocab)};
  MeasuredRung measured;
  measured.runtime_bytes = resident_bytes();
  if (rehearsal.arena_bytes() + measured.runtime_bytes > default_budget_bytes())
    throw OutOfBudget(fmt::format("'{}' needs {}, more than this machine has now", rung.name,
                                  format_bytes(rehearsal.arena_bytes())),
                      rehearsal.snapshot, rehearsal.arena_bytes());
  reset_peak_resident();
  Ledger ledger;
  Arena arena(backend.device(), ledger, rehearsal.layout);
  arena.prefault();
  Trainer trainer(backend, arena, rung.spec);
  trainer.load({});
  trainer.step(step, kLearningRate);  // warms up
  std::vector<double> seconds;
  for (int i = 0; i < repeats; ++i) {
    const auto begin = Clock::now();
    trainer.step(step, kLearningRate);
    seconds.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
  }
  trainer.save(nullptr, nullptr, "");  // the memory of a save, without a file
  const Snapshot snapshot = ledger.snapshot();
  measured.accounts = snapshot.accounts_at_peak();
  measured.account_peaks = snapshot.peaks_of_accounts();
  measured.peak_bytes = snapshot.peak_bytes();
  measured.peak_resident = peak_resident_bytes();
  measured.step_seconds = median(seconds);
  return measured;
}

}  // namespace

int measure_rung_here(const LadderOptions& options) {
  end_with_parent();
  const LadderInput input = read_ladder_input(options);
  const std::unique_ptr<Backend> backend = open_backend("cpu", options.threads);
  warm_up(*backend);
  const std::vector<Rung> rungs = make_rungs(input.spec, input.shape);
  const MeasuredRung m =
      measure(rungs.at(static_cast<size_t>(*options.rung)), input.shape, options.repeats, *backend);
  fmt::print("{}\n", nlohmann::json{{"accounts", m.accounts},
                                    {"account_peaks", m.account_peaks},
                                    {"peak_bytes", m.peak_bytes},
                                    {"runtime_bytes", m.runtime_bytes},
                                    {"process_peak_rss_bytes", m.peak_resident},
                                    {"step_seconds", m.step_seconds}}
                         .dump());
  return kDone;
}

MeasuredRung measure_rung_apart(const LadderOptions& options, size_t rung) {
  std::vector<std::string> arguments = {"ladder",
                                        "--model=" + options.model,
                                        "--method=" + options.method,
                                        fmt::format("--seq={}", options.sequence),
                                        fmt::format("--batch={}", options.batch),
                                        fmt::format("--threads={}", options.threads),
                                        fmt::format("--repeats={}", options.repeats),
                                        fmt::format("--rung={}", rung)};
  if (options.mean_sample) arguments.push_back(fmt::format("--mean={}", *options.mean_sample));
  const nlohmann::json json = nlohmann::json::parse(output_of_own_process(arguments));
  MeasuredRung measured;
  json.at("accounts").get_to(measured.accounts);
  json.at("account_peaks").get_to(measured.account_peaks);
  json.at("peak_bytes").get_to(measured.peak_bytes);
  json.at("runtime_bytes").get_to(measured.runtime_bytes);
  json.at("process_peak_rss_bytes").get_to(measured.peak_resident);
  json.at("step_seconds").get_to(measured.step_seconds);
  return measured;
}

}  // namespace cairn::program
