#include "bench_paging.h"

#include <array>
#include <filesystem>
#include <memory>

#include "files/page_file.h"
#include "memory/layout.h"
#include "model/known_models.h"
#include "ops/moving.h"
#include "train/optimizers/optimizer.h"

namespace cairn::program {
namespace {

constexpr int64_t kEnough = 4 * kGiB;

ModelSpec paged_model() {
  ModelSpec spec;
  spec.config = *find_known_model("smollm2-135m");
  spec.config.num_layers = 8;
  spec.config.vocab = 2048;
  return spec;
}

class PagingRun {
 public:
  PagingRun(Backend& backend, Arena& arena, PageStore* pages, StateCoding coding)
      : exec_{backend, arena}, model_(paged_model()) {
    const Arena::PhaseScope phase(arena, Phase::load);
    model_.allocate(exec_, 8);
    for (const auto& [place, page_resident] :
         {std::pair(StatePlace::resident, kEnough), std::pair(StatePlace::paged, kEnough),
          std::pair(StatePlace::paged, kLittlePageResident)}) {
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
      ops::fill_random(exec_, {.normal = true, .scale = 0.05f}, parameter.value);
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

}  // namespace

void measure_paging(Backend& backend, StateCoding coding, int repeats, PagingCost& cost) {
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

}  // namespace cairn::program
