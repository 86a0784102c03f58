// Learning rates against transformers' schedulers.
#include "train/schedule.h"

#include <gtest/gtest.h>

#include "golden/golden_files.h"

namespace cairn::test {
namespace {

SchedulerType type_of(const std::string& name) {
  for (SchedulerType type : {SchedulerType::linear, SchedulerType::cosine, SchedulerType::constant,
                             SchedulerType::constant_with_warmup})
    if (name_of(type) == name) return type;
  throw CheckFailed("unknown scheduler " + name);
}

TEST(Schedule, rates_equal_transformers) {
  const nlohmann::json cases = read_json(golden_path("schedules.json"));
  EXPECT_GE(cases.size(), 12u);
  for (const nlohmann::json& one : cases) {
    Schedule schedule;
    schedule.type = type_of(one["lr_scheduler_type"]);
    schedule.peak = one["learning_rate"];
    schedule.warmup_steps = one["warmup_steps"];
    schedule.total_steps = one["total_steps"];
    for (int64_t step = 0; step < schedule.total_steps; ++step)
      EXPECT_NEAR(schedule.learning_rate(step),
                  one["rates"][static_cast<size_t>(step)].get<double>(), 1e-12 * schedule.peak)
          << one.dump() << " step " << step;
  }
}

}  // namespace
}  // namespace cairn::test
