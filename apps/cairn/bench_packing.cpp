// cairn bench packing: how full packed rows are, and a step on one of them beside a step on a
// padded batch of 8, in turns. Padding exists here alone, to measure what it would cost.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "base/error.h"
#include "bench.h"
#include "bench_samples.h"
#include "data/sampler.h"
#include "median.h"
#include "memory/machine.h"
#include "plan/plan.h"
#include "report/table.h"
#include "train/engine.h"

namespace cairn::program {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kPaddedBatch = 8;     // samples
constexpr int64_t kPaddedMultiple = 8;  // LLaMA-Factory rounds the width of a batch up to it
constexpr double kLongerMean = 300;     // tokens, of the second measurement
constexpr uint64_t kSeed = 42;

// One way to make an epoch of micro-batches.
struct Side {
  std::vector<Batch> batches;
  std::vector<double> rates;  // measured: positions a second of single steps

  int64_t positions() const {
    int64_t sum = 0;
    for (const Batch& batch : batches) sum += batch.tokens();
    return sum;
  }
};

std::vector<Batch> batches_of(const Sampler& sampler,
                              const std::function<Batch(const MicroBatch&)>& make) {
  std::vector<Batch> batches;
  for (int64_t step = 0; step < sampler.steps(); ++step)
    batches.push_back(make(sampler.step(step)[0]));
  return batches;
}

Batch make_padded_batch(const std::vector<Example>& examples, const MicroBatch& micro_batch) {
  constexpr int32_t kPad = 0;
  int64_t width = 0;
  std::vector<Example> padded;
  for (int64_t i : micro_batch) {
    padded.push_back(examples[static_cast<size_t>(i)]);
    width = std::max(width, padded.back().tokens());
  }
  const auto places = static_cast<size_t>(round_up(width, kPaddedMultiple));
  std::vector<const Example*> pointers;
  for (Example& example : padded) {
    example.ids.resize(places, kPad);
    example.labels.resize(places, kIgnored);
    pointers.push_back(&example);
  }
  return make_batch(pointers);
}

struct Case {
  std::string name;
  int64_t samples = 0, tokens = 0, trained = 0, capacity = 0;
  Side packed, padded;

  double mean() const { return static_cast<double>(tokens) / static_cast<double>(samples); }
  int64_t rows() const { return static_cast<int64_t>(packed.batches.size()); }
  int64_t least_rows() const { return ceil_div(tokens, capacity); }
  double filled() const {
    return static_cast<double>(tokens) / static_cast<double>(rows() * capacity);
  }
  // Real tokens among the positions that a side computes.
  double share(const Side& side) const {
    return static_cast<double>(tokens) / static_cast<double>(side.positions());
  }
  double tokens_per_second(const Side& side) const { return share(side) * median(side.rates); }
  double trained_per_second(const Side& side) const {
    return tokens_per_second(side) * static_cast<double>(trained) / static_cast<double>(tokens);
  }
  // What the ratio of the rates would be if every position cost the same.
  double fewer_positions() const {
    return static_cast<double>(padded.positions()) / static_cast<double>(packed.positions());
  }
  double ratio() const { return tokens_per_second(packed) / tokens_per_second(padded); }
};

Case make_case(std::string name, const std::vector<Example>& examples, int64_t capacity) {
  Case made;
  made.name = std::move(name);
  made.samples = static_cast<int64_t>(examples.size());
  made.tokens = count_tokens(examples);
  for (const Example& example : examples) made.trained += example.trained_labels();
  made.capacity = capacity;
  const std::vector<int64_t> lengths = lengths_of(examples);
  const Sampler packed(pack_rows(lengths, capacity), {.epochs = 1, .seed = kSeed});
  const Sampler padded(make_single_rows(lengths),
                       {.batch_size = kPaddedBatch, .epochs = 1, .seed = kSeed});
  made.packed.batches =
      batches_of(packed, [&](const MicroBatch& row) { return make_batch(examples, row); });
  made.padded.batches = batches_of(
      padded, [&](const MicroBatch& batch) { return make_padded_batch(examples, batch); });
  return made;
}

// Steps on the first batches of both sides in turns; the batches come in a random order.
void measure(Case& measured, const BenchOptions& options, Backend& backend) {
  const auto turns = std::min({static_cast<size_t>(options.repeats), measured.packed.batches.size(),
                               measured.padded.batches.size()});
  TrainSpec spec;
  spec.model.config = find_model_config(options.model, ".");
  spec.model.lora = LoraSpec();
  spec.checkpointing = policy_of(options, spec.model.config.num_layers);
  for (Side* side : {&measured.packed, &measured.padded})
    for (size_t turn = 0; turn < turns; ++turn)
      spec.capacity = elementwise_max(spec.capacity, capacity_of(side->batches[turn]));
  const Rehearsal rehearsal = rehearse(spec, 1, backend.profile());
  if (rehearsal.arena_bytes() + resident_bytes() > default_budget_bytes())
    throw OutOfBudget(
        fmt::format("{} are needed for these batches", format_bytes(rehearsal.arena_bytes())),
        rehearsal.snapshot, rehearsal.arena_bytes());
  Ledger ledger;
  Arena arena(backend.device(), ledger, rehearsal.layout);
  arena.prefault();
  Trainer trainer(backend, arena, spec);
  trainer.load({});
  trainer.step({&measured.packed.batches[0], 1}, 1e-5);  // warms up
  for (size_t turn = 0; turn < turns; ++turn)
    for (Side* side : {&measured.packed, &measured.padded}) {
      const auto begin = Clock::now();
      trainer.step({&side->batches[turn], 1}, 1e-5);
      const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
      side->rates.push_back(static_cast<double>(side->batches[turn].tokens()) / seconds);
    }
}

nlohmann::ordered_json side_json(const Case& measured, const Side& side) {
  return {{"micro_batches", side.batches.size()},
          {"positions", side.positions()},
          {"real_share", measured.share(side)},
          {"positions_per_second", median(side.rates)},
          {"tokens_per_second", measured.tokens_per_second(side)},
          {"trained_tokens_per_second", measured.trained_per_second(side)}};
}

nlohmann::ordered_json to_json(const Case& measured) {
  return {{"data", measured.name},
          {"samples", measured.samples},
          {"mean_tokens", measured.mean()},
          {"capacity", measured.capacity},
          {"rows", measured.rows()},
          {"least_rows", measured.least_rows()},
          {"filled", measured.filled()},
          {"packed", side_json(measured, measured.packed)},
          {"padded", side_json(measured, measured.padded)},
          {"fewer_positions", measured.fewer_positions()},
          {"ratio", measured.ratio()}};
}

void add_rows(Table& table, const Case& measured) {
  for (const Side* side : {&measured.packed, &measured.padded}) {
    const bool is_packed = side == &measured.packed;
    table.add_row({is_packed ? fmt::format("{}, packed", measured.name) : "  padded, 8 samples",
                   fmt::format("{}", side->batches.size()),
                   fmt::format("{:.1f} %", 100 * measured.share(*side)),
                   fmt::format("{:.0f}", median(side->rates)),
                   fmt::format("{:.0f}", measured.tokens_per_second(*side)),
                   fmt::format("{:.0f}", measured.trained_per_second(*side)),
                   is_packed ? fmt::format("{:.2f}", measured.ratio()) : ""});
  }
}

std::string rows_line(const Case& measured) {
  return fmt::format(
      "{}: {} samples, {:.0f} tokens in the mean, in {} rows of {}, at least {} needed; {:.2f} % "
      "filled; padded, {:.2f} times the positions\n",
      measured.name, measured.samples, measured.mean(), measured.rows(), measured.capacity,
      measured.least_rows(), 100 * measured.filled(), measured.fewer_positions());
}

}  // namespace

int bench_packing(const BenchOptions& options) {
  const std::vector<Example> examples = read_examples(options);
  std::vector<Case> cases;
  cases.push_back(make_case("as it is", examples, options.sequence));
  cases.push_back(make_case(fmt::format("mean {:.0f}", kLongerMean),
                            stretched_to_mean(examples, kLongerMean, options.sequence),
                            options.sequence));
  const std::unique_ptr<Backend> backend = open_backend("cpu", options.threads);
  warm_up(*backend);
  Table table({{"micro-batches"},
               {"an epoch", Align::right},
               {"real", Align::right},
               {"positions/s", Align::right},
               {"real tokens/s", Align::right},
               {"trained tokens/s", Align::right},
               {"ratio", Align::right}});
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  std::string lines;
  for (Case& measured : cases) {
    measure(measured, options, *backend);
    add_rows(table, measured);
    lines += rows_line(measured);
    list.push_back(to_json(measured));
  }
  if (options.json)
    fmt::print("{}\n", nlohmann::ordered_json{{"model", options.model},
                                              {"threads", backend->profile().threads},
                                              {"checkpointing", options.checkpointing},
                                              {"cases", list}}
                           .dump(2));
  else
    fmt::print(
        "{}{}positions/s: medians of {} LoRA steps in turns; real: of all positions of an epoch; "
        "{} "
        "threads, checkpointing {}\n",
        lines, table.to_string(), options.repeats, backend->profile().threads,
        options.checkpointing);
  return kDone;
}

}  // namespace cairn::program
