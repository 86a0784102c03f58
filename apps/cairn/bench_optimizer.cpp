// cairn bench optimizer: what an update moves beside plain memcpy, and what paging of the states
// costs, each in turns in one run.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "bench.h"
#include "bench_arena.h"
#include "files/page_file.h"
#include "median.h"
#include "model/known_models.h"
#include "ops/adamw.h"
#include "ops/moving.h"
#include "report/table.h"
#include "train/optimizers/optimizer.h"

namespace cairn::program {
namespace {

using Clock = std::chrono::steady_clock;

// No cache holds this many f32.
constexpr int64_t kElements = int64_t{1} << 25;
// Of the paged states: more than all, and a part of them.
constexpr int64_t kEnough = 4 * kGiB, kTooLittle = 32 * kMiB;

template <typename Body>
double seconds_of(const Body& body) {
  const auto begin = Clock::now();
  body();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

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

// Updates of one model by one optimizer in three places.
struct PagingCost {
  const char* name;
  int64_t parameters = 0, page_bytes = 0;
  std::vector<double> resident = {}, fitting = {}, moving = {};  // seconds of an update

  double overhead() const { return median(fitting) / median(resident) - 1; }
  // There and back.
  double page_rate() const { return 2 * static_cast<double>(page_bytes) / median(moving); }
};

ModelSpec paged_model() {
  ModelSpec spec;
  spec.config = *find_known_model("smollm2-135m");
  spec.config.num_layers = 8;
  spec.config.vocab = 2048;
  return spec;
}

class PagingRun {
 public:
  PagingRun(Backend& backend, Arena& arena, PageStore* pages, std::optional<StateCoding> coding)
      : exec_{backend, arena}, model_(paged_model()) {
    const Arena::PhaseScope phase(arena, Phase::load);
    model_.allocate(exec_, 8);
    for (const auto& [place, page_resident] :
         {std::pair(StatePlace::resident, kEnough), std::pair(StatePlace::paged, kEnough),
          std::pair(StatePlace::paged, kTooLittle)}) {
      OptimizerSettings settings;
      settings.coding = coding;
      settings.place = place;
      settings.page_resident = page_resident;
      Optimizer& optimizer =
          *optimizers_.emplace_back(std::make_unique<Optimizer>(model_, settings));
      optimizer.allocate(exec_);
      optimizer.use_pages(arena.ledger(), pages, 0);
    }
    pages->reserve(optimizers_.back()->page_bytes());
    for (Parameter& parameter : model_.parameters()) {
      ops::fill_random(exec_, {.normal = true, .scale = 0.05f}, parameter.value.view());
      ops::fill_random(exec_, {.normal = true, .scale = 0.01f}, parameter.gradient.view());
    }
  }

  // One update by each, in turns.
  std::array<double, 3> update() {
    const Arena::PhaseScope phase(exec_.arena, Phase::update);
    std::array<double, 3> seconds{};
    for (size_t i = 0; i < optimizers_.size(); ++i)
      seconds[i] = seconds_of([&] { optimizers_[i]->update(exec_, 1e-5, 1); });
    return seconds;
  }
  void describe(PagingCost& cost) const {
    for (const Parameter& parameter : model_.parameters()) cost.parameters += parameter.elements();
    cost.page_bytes = optimizers_.back()->page_bytes();
  }

 private:
  Exec exec_;
  Model model_;
  std::vector<std::unique_ptr<Optimizer>> optimizers_;
};

void measure_paging(Backend& backend, std::optional<StateCoding> coding, int repeats,
                    PagingCost& cost) {
  const auto rehearsal = open_rehearsal(backend.profile());
  Ledger rehearsed, ledger;
  Arena recording(rehearsal->device(), rehearsed);
  PagingRun spare(*rehearsal, recording, &rehearsal->pages(), coding);
  spare.update();
  PageFile pages(std::filesystem::temp_directory_path());
  Arena arena(backend.device(), ledger, solve_layout(recording.trace()));
  arena.prefault();
  PagingRun run(backend, arena, &pages, coding);
  run.describe(cost);
  run.update();  // warms up
  for (int i = 0; i < repeats; ++i) {
    const auto [resident, fitting, moving] = run.update();
    cost.resident.push_back(resident);
    cost.fitting.push_back(fitting);
    cost.moving.push_back(moving);
  }
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
          {"page_resident_bytes", kTooLittle},
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
                {fmt::format("paged within {} s", format_bytes(kTooLittle)), Align::right},
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
