// Which backends a name opens, and what the profile of this machine says.
#include "backend/registry.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <cstdlib>

#include "backend/cpu/cores.h"
#include "base/error.h"

namespace cairn {
namespace {

std::string error_of(const std::string& device) {
  try {
    open_backend(device, 1);
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Registry, auto_and_cpu_open_the_processor) {
  for (const char* name : {"cpu", "auto"}) {
    const auto backend = open_backend(name, 2);
    EXPECT_EQ(backend->profile().name, "cpu");
    EXPECT_EQ(backend->profile().threads, 2);
  }
}

TEST(Registry, names_the_instruction_set_and_keeps_to_avx2_where_told) {
  const char* const told = std::getenv("CAIRN_SIMD");
  const std::string set = cpu_instruction_set();
  EXPECT_FALSE(set.empty());
  const bool is_held = told && *told;
  EXPECT_TRUE(!is_held || set == "AVX2" || set == "EMU128") << set;
}

TEST(Registry, what_is_not_built_answers_by_name) {
  EXPECT_EQ(error_of("cuda:0"),
            "device 'cuda:0' is not built: configure with preset cuda, or write device: cpu");
  EXPECT_NE(error_of("cuda").find("not built"), std::string::npos);
}

TEST(Registry, a_plan_refuses_the_devices_that_a_run_refuses) {
  for (const char* name : {"cuda:0", "cuda", "cudax", ""}) {
    try {
      profile_of(name, 1);
      ADD_FAILURE() << "'" << name << "' was planned for";
    } catch (const UserError& error) {
      EXPECT_EQ(error.what(), error_of(name));
    }
  }
  EXPECT_EQ(profile_of("auto", 3).threads, 3);
}

TEST(Registry, more_threads_than_any_machine_has_are_refused) {
  EXPECT_EQ(cpu_profile(kMostThreads).threads, kMostThreads);
  EXPECT_THROW(cpu_profile(kMostThreads + 1), UserError);
}

TEST(Registry, an_unknown_device_answers_with_the_known_ones) {
  EXPECT_EQ(error_of("cudax"), "device 'cudax' is not known; write one of auto, cpu, cuda:N");
  EXPECT_EQ(error_of(""), "device '' is not known; write one of auto, cpu, cuda:N");
}

TEST(Registry, no_threads_given_means_every_core_this_process_may_use) {
  EXPECT_EQ(cpu_profile(0).threads, cpu::usable_cores());
  EXPECT_EQ(cpu_profile(7).threads, 7);
  EXPECT_THROW(cpu_profile(-1), UserError);
}

TEST(Registry, usable_cores_follow_the_affinity) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  int first = 0;
  while (!CPU_ISSET(first, &before)) ++first;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(cpu::usable_cores(), 1);
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
}

}  // namespace
}  // namespace cairn
