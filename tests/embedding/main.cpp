// embedding RECIPE [STOP_AFTER]: plans the recipe, trains it, stops after so many steps if told to,
// and prints what it saw as "name value" lines. A STOP_AFTER below 0 throws from the callback.
#include <cairn/cairn.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace {

void print(const char* name, long long value) { std::printf("%s %lld\n", name, value); }

void run(const std::string& path, int64_t stop_after) {
  const auto recipe = cairn::RunRecipe::from_file(path, {"threads=1"});
  const cairn::PlanReport plan = cairn::plan(recipe);
  print("fits", plan.fits);
  print("planned_peak", plan.predicted.peak_bytes);

  int64_t steps = 0;
  double last_loss = 0;
  cairn::TrainCallbacks callbacks;
  callbacks.on_step = [&](const cairn::TrainProgress& progress) {
    steps = progress.step;
    last_loss = progress.loss;
    if (stop_after < 0)
      throw std::filesystem::filesystem_error("the caller's own", std::error_code());
  };
  callbacks.wants_stop = [&] { return stop_after > 0 && steps >= stop_after; };
  const cairn::TrainReport report = cairn::train(recipe, callbacks);
  print("steps_seen", steps);
  print("steps_reported", report.steps);
  print("stopped", report.stopped);
  print("predicted_peak", report.predicted.peak_bytes);
  print("measured_peak", report.measured.peak_bytes);
  print("accounts_add_up", report.measured.accounts.total() == report.measured.peak_bytes);
  print("accounts_equal", report.measured == report.predicted);
  print("loss_is_a_loss", last_loss > 0 && last_loss < 100);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(argc > 1 ? argv[1] : "recipe.yaml", argc > 2 ? std::atoll(argv[2]) : 0);
  } catch (const cairn::Error& error) {
    std::printf("error %d %s\n", static_cast<int>(error.kind()), error.what());
    return 3;
  } catch (const std::filesystem::filesystem_error& error) {
    std::printf("thrown %s\n", error.what());
    return 4;
  }
  return 0;
}
