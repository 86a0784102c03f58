// cairn calibrate: what it stores is what plans go by, on this processor only; a broken file is
// named.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "support/program.h"

namespace cairn::test {
namespace {

std::string folder_of(const std::string& name) {
  const auto folder = std::filesystem::path(testing::TempDir()) / (name + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  return folder.string();
}

Outcome run_with_rates(const std::string& folder, const std::string& words) {
  return run_command(folder, "CAIRN_RATES=rates.json " + std::string(CAIRN_PROGRAM) + " " + words);
}

const std::string kPlan =
    "plan --model llama-3.2-1b --seq 512 --batch 1 weights_place=paged --json";

double planned_seconds(const std::string& folder) {
  const Outcome outcome = run_with_rates(folder, kPlan);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  return nlohmann::json::parse(outcome.output)["step_seconds"];
}

void write_rates(const std::string& folder, const nlohmann::json& rates) {
  std::ofstream(folder + "/rates.json") << rates;
}

TEST(Calibrate, stores_rates_that_plans_go_by) {
  const std::string folder = folder_of("cairn_calibrate");
  const Outcome outcome = run_with_rates(folder, "calibrate --page-dir . --json 2>calibrate.err");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
  const nlohmann::json said = nlohmann::json::parse(outcome.output);
  std::ifstream file(folder + "/rates.json");
  nlohmann::json stored = nlohmann::json::parse(file);
  EXPECT_EQ(said["bytes_per_second"], stored["bytes_per_second"]);
  for (const char* rate : {"gemm_flops", "bytes_per_second", "page_bytes_per_second"})
    EXPECT_GT(stored[rate].get<double>(), 1e6) << rate;

  const double measured = planned_seconds(folder);
  for (const char* rate : {"gemm_flops", "bytes_per_second", "page_bytes_per_second"})
    stored[rate] = stored[rate].get<double>() / 2;
  stored["page_slowdown_seconds_per_byte"] =
      2 * stored["page_slowdown_seconds_per_byte"].get<double>();
  write_rates(folder, stored);
  EXPECT_NEAR(planned_seconds(folder), 2 * measured, 1e-9 * measured);
  stored["processor"] = "another";
  write_rates(folder, stored);
  const double assumed = planned_seconds(folder);
  std::filesystem::remove(folder + "/rates.json");
  EXPECT_EQ(planned_seconds(folder), assumed);
  std::filesystem::remove_all(folder);
}

TEST(Calibrate, a_broken_file_of_rates_is_named_and_passed_over) {
  const std::string folder = folder_of("cairn_broken_rates");
  for (const char* text : {"", "{", "[]"}) {
    std::ofstream(folder + "/rates.json") << text;
    const Outcome outcome = run_with_rates(folder, kPlan);
    EXPECT_EQ(outcome.exit_code, 0) << text << outcome.output;
    EXPECT_NE(outcome.output.find("rates.json"), std::string::npos) << outcome.output;
    EXPECT_NE(outcome.output.find("an average machine"), std::string::npos) << outcome.output;
  }
  std::filesystem::remove_all(folder);
}

TEST(Calibrate, a_folder_that_is_none_is_refused) {
  const Outcome outcome =
      run_command(".", std::string(CAIRN_PROGRAM) + " calibrate --page-dir /none");
  EXPECT_EQ(outcome.exit_code, 2) << outcome.output;
}

}  // namespace
}  // namespace cairn::test
