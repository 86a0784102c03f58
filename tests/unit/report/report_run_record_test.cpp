// What `cairn report` reads of an output folder, and the picture that it draws of several.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "report/run_record.h"

namespace cairn::test {
namespace {

class RunRecords : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(parent_); }
  void write(const char* name, const std::string& text) {
    std::ofstream(folder_ + "/" + name) << text;
  }

  // Cases run at the same time.
  std::string parent_ = testing::TempDir() + "/cairn_report_" + std::to_string(getpid());
  std::string folder_ = parent_ + "/cairn_run_record";
};

constexpr const char* kLog =
    "{\"current_steps\": 1, \"loss\": 3.5, \"throughput\": 10}\n"
    "{\"current_steps\": 2, \"loss\": null, \"throughput\": 30}\n"
    "{\"current_steps\": 3, \"loss\": 2.5, \"throughput\": 20}\n"
    "{\"current_steps\": 3, \"eval_loss\": 2.75}\n";

TEST_F(RunRecords, tells_losses_rate_and_peak) {
  write("trainer_log.jsonl", kLog);
  write("ledger.json", R"({"measured": {"peak_bytes": 4096}})");
  const RunRecord run = read_run_record(folder_ + "/");
  EXPECT_EQ(run.name, "cairn_run_record");
  ASSERT_EQ(run.training.size(), 3u);
  EXPECT_TRUE(std::isnan(run.training[1].loss));
  EXPECT_EQ(run.training[2].step, 3);
  ASSERT_EQ(run.evaluation.size(), 1u);
  EXPECT_EQ(run.evaluation[0].loss, 2.75);
  EXPECT_EQ(run.peak_bytes, 4096);
  EXPECT_EQ(run.tokens_per_second, 20);
}

TEST_F(RunRecords, a_run_that_was_killed_tells_its_whole_lines) {
  write("trainer_log.jsonl", std::string(kLog) + "{\"current_steps\": 4, \"lo");
  const RunRecord run = read_run_record(folder_);
  EXPECT_EQ(run.training.size(), 3u);
  EXPECT_FALSE(run.peak_bytes);
}

TEST_F(RunRecords, a_folder_of_no_run_and_a_broken_line_are_named) {
  EXPECT_THROW(read_run_record(folder_), UserError);
  for (const char* line :
       {"no json\n", "[1]\n", "{\"loss\": 1}\n", "{\"current_steps\": \"1\"}\n"}) {
    write("trainer_log.jsonl", std::string(kLog) + line);
    try {
      read_run_record(folder_);
      ADD_FAILURE() << line;
    } catch (const DamagedFile& error) {
      EXPECT_NE(std::string(error.what()).find("line 5"), std::string::npos) << error.what();
    }
  }
}

TEST_F(RunRecords, the_picture_has_every_run_and_no_number_that_is_none) {
  write("trainer_log.jsonl", kLog);
  RunRecord one = read_run_record(folder_), two = one, none;
  two.name = "a <second>";
  const std::string svg = run_comparison_svg("two", {one, two, none});
  EXPECT_NE(svg.find("cairn_run_record 2.750"), std::string::npos);
  EXPECT_NE(svg.find("a &lt;second&gt;"), std::string::npos);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_NE(run_comparison_svg("none", {none}).find("no losses were recorded"), std::string::npos);
}

}  // namespace
}  // namespace cairn::test
