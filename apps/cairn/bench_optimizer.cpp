// cairn bench optimizer: what an update moves beside plain memcpy, and what paging of the states
// costs, each in turns in one run.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "bench.h"
#include "bench_paging.h"
#include "median.h"
#include "ops/adamw.h"
#include "ops/moving.h"
#include "report/table.h"
#include "run_in_arena.h"
#include "train/optimizers/state_shape.h"

namespace cairn::program {
namespace {

// No cache holds this many f32.
constexpr int64_t kElements = int64_t{1} << 25;

// memcpy by the team that the kernels run on, a share each.
void copy_by_team(ConstView from, View to, int threads) {
  const int64_t share = ceil_div(from.bytes(), threads);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t begin = 0; begin < from.bytes(); begin += share)
    std::memcpy(to.data() + begin, from.data() + begin,
                static_cast<size_t>(std::min(share, from.bytes() - begin)));
}

struct UpdateRate {
  const char* name;
  double bytes = 0;                               // read and written by one update
  std::vector<double> seconds = {}, copies = {};  // of an update; of the memcpy beside it

  double rate() const { return bytes / median(seconds); }
  // One way: a byte that is copied counts once.
  double copy_rate() const {
    return static_cast<double>(kElements * size_of(DType::f32)) / median(copies);
  }
  double share() const { return rate() / copy_rate(); }
};

AdamW settings_of_step() {
  AdamW settings;
  settings.learning_rate = 1e-5f;
  settings.bias_correction1 = settings.bias_correction2 = 0.1f;
  return settings;
}

// One update of f32 weights with states in `shape`, again and again.
void measure_update(Backend& backend, StateCoding coding, int repeats, UpdateRate& rate) {
  const StateShape shape{coding, true, false, kElements};
  run_in_arena(backend, [&](const Exec& exec, bool real) {
    Tensor gradient = exec.make(Account::gradients, "gradient", DType::f32, {kElements});
    Tensor weight = exec.make(Account::weights, "weight", DType::f32, {kElements});
    Tensor memory = exec.make(Account::optimizer, "states", DType::u8, {shape.bytes()});
    ops::fill_random(exec, {.normal = true, .scale = 0.01f, .seed = 1}, gradient.view());
    ops::fill_random(exec, {.normal = true, .scale = 0.05f, .seed = 2}, weight.view());
    ops::fill_zero(exec, memory.view());
    const StateViews states = shape.view(memory.view().data());
    const auto update = [&] {
      if (states.m)
        ops::adamw(exec, settings_of_step(), gradient.view(), weight.view(), View(), states.m,
                   states.v);
      else
        ops::adamw_8bit(exec, settings_of_step(), gradient.view(), weight.view(), View(),
                        states.m_8bit, states.v_8bit);
    };
    if (!real) {
      auto& rehearsal = dynamic_cast<RehearsalBackend&>(exec.backend);
      rehearsal.reset_work();
      update();
      rate.bytes = rehearsal.work().bytes_moved;
      return;
    }
    update();  // warms up
    for (int i = 0; i < repeats; ++i) {
      rate.seconds.push_back(seconds_of(update));
      rate.copies.push_back(seconds_of(
          [&] { copy_by_team(weight.view(), gradient.view(), backend.profile().threads); }));
      ops::fill_random(exec, {.normal = true, .scale = 0.01f, .seed = 1}, gradient.view());
    }
  });
}

nlohmann::ordered_json to_json(const UpdateRate& rate) {
  return {{"update", rate.name},
          {"bytes_per_parameter", rate.bytes / static_cast<double>(kElements)},
          {"bytes_per_second", rate.rate()},
          {"memcpy_bytes_per_second", rate.copy_rate()},
          {"share", rate.share()}};
}

nlohmann::ordered_json to_json(const PagingCost& cost) {
  return {{"states", cost.name},
          {"parameters", cost.parameters},
          {"resident_seconds", median(cost.resident)},
          {"paged_fitting_seconds", median(cost.fitting)},
          {"overhead", cost.overhead()},
          {"page_resident_bytes", kLittlePageResident},
          {"page_bytes", cost.page_bytes},
          {"paged_moving_seconds", median(cost.moving)},
          {"page_bytes_per_second", cost.page_rate()}};
}

std::string to_text(const std::vector<UpdateRate>& rates, const std::vector<PagingCost>& costs) {
  Table updates({{"update"},
                 {"bytes a parameter", Align::right},
                 {"GB/s", Align::right},
                 {"memcpy GB/s", Align::right},
                 {"share", Align::right}});
  for (const UpdateRate& rate : rates)
    updates.add_row({rate.name, fmt::format("{:.2f}", rate.bytes / double{kElements}),
                     fmt::format("{:.1f}", rate.rate() / 1e9),
                     fmt::format("{:.1f}", rate.copy_rate() / 1e9),
                     fmt::format("{:.2f}", rate.share())});
  Table paging({{"states"},
                {"resident s", Align::right},
                {"paged, all fit s", Align::right},
                {"costs", Align::right},
                {fmt::format("paged within {} s", format_bytes(kLittlePageResident)), Align::right},
                {"page file", Align::right},
                {"GB/s", Align::right}});
  for (const PagingCost& cost : costs)
    paging.add_row({cost.name, fmt::format("{:.4f}", median(cost.resident)),
                    fmt::format("{:.4f}", median(cost.fitting)),
                    fmt::format("{:.1f} %", 100 * cost.overhead()),
                    fmt::format("{:.4f}", median(cost.moving)), format_bytes(cost.page_bytes),
                    fmt::format("{:.2f}", cost.page_rate() / 1e9)});
  return updates.to_string() + "\n" + paging.to_string();
}

}  // namespace

int bench_optimizer(const BenchOptions& options) {
  const std::unique_ptr<Backend> backend = open_backend("cpu", options.threads);
  std::vector<UpdateRate> rates = {{"AdamW, 32 bits"}, {"AdamW, 8 bits"}};
  measure_update(*backend, StateCoding::f32, options.repeats, rates[0]);
  measure_update(*backend, StateCoding::blocks_8bit, options.repeats, rates[1]);
  std::vector<PagingCost> costs = {{"32 bits"}, {"8 bits"}};
  measure_paging(*backend, StateCoding::f32, options.repeats, costs[0]);
  measure_paging(*backend, StateCoding::blocks_8bit, options.repeats, costs[1]);
  if (!options.json) {
    fmt::print(
        "{}{} parameters in f32, medians of {} updates in turns, {} threads; memcpy one way: a "
        "byte copied counts once\n",
        to_text(rates, costs), costs[0].parameters, options.repeats, backend->profile().threads);
    return kDone;
  }
  nlohmann::ordered_json json = {{"threads", backend->profile().threads}};
  for (const UpdateRate& rate : rates) json["updates"].push_back(to_json(rate));
  for (const PagingCost& cost : costs) json["paging"].push_back(to_json(cost));
  fmt::print("{}\n", json.dump(2));
  return kDone;
}

}  // namespace cairn::program
