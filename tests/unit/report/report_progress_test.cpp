// Progress and the trainer's log: what a terminal, a log file and a script that reads lines see.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/bytes.h"
#include "base/error.h"
#include "report/figures.h"
#include "report/progress.h"
#include "report/trainer_log.h"

namespace cairn {
namespace {

StepReport some_step(int64_t step) {
  StepReport report;
  report.step = step;
  report.total_steps = 12;
  report.epoch = 0.5;
  report.loss = 1.25;
  report.learning_rate = 1e-4;
  report.gradient_norm = 0.5;
  report.tokens_per_second = 1234.567;
  report.total_tokens = 4096;
  report.seconds_elapsed = 65;
  report.seconds_left = 3600;
  report.bytes_in_use = 700 * kMiB;
  return report;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(Progress, elsewhere_than_a_terminal_plain_lines_come_at_logging_steps) {
  std::ostringstream stream;
  {
    Progress progress(stream, {false, 100, 5, false});
    for (int64_t step = 1; step <= 12; ++step) progress.report(some_step(step));
  }
  const std::vector<std::string> lines = lines_of(stream.str());
  ASSERT_EQ(lines.size(), 3u);  // 5, 10 and the last
  EXPECT_EQ(
      lines[0],
      "step 5/12  epoch 0.50  loss 1.2500  lr 1.00e-04  grad 0.500  1,234 tokens/s  700.0 MiB  "
      "elapsed 1:05  left 1:00:00");
  EXPECT_EQ(lines[2].substr(0, 10), "step 12/12");
  EXPECT_EQ(stream.str().find('\x1b'), std::string::npos);
  EXPECT_EQ(stream.str().find('\r'), std::string::npos);
}

TEST(Progress, the_first_step_and_evaluations_are_told_too) {
  std::ostringstream stream;
  Progress progress(stream, {false, 100, 5, true});
  progress.report(some_step(1));
  progress.report(some_step(2));
  StepReport evaluated = some_step(3);
  evaluated.eval_loss = 1.5;
  progress.report(evaluated);
  const std::vector<std::string> lines = lines_of(stream.str());
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_NE(lines[1].find("eval_loss 1.5000"), std::string::npos);
}

TEST(Progress, a_terminal_shows_one_line_that_is_redrawn) {
  std::ostringstream stream;
  {
    Progress progress(stream, {true, 100, 5, false});
    progress.report(some_step(1));
    progress.say("a checkpoint was saved");
    progress.report(some_step(2));
  }
  const std::string text = stream.str();
  EXPECT_EQ(lines_of(text).size(), 2u);  // what was said, and the bar itself
  EXPECT_NE(text.find("\r\x1b[Ka checkpoint was saved\n"), std::string::npos);
  EXPECT_NE(text.find("\r2/12 [###"), std::string::npos);
  EXPECT_EQ(text.back(), '\n');
}

TEST(Progress, once_ended_it_leaves_the_line_to_what_is_written_next) {
  std::ostringstream stream;
  {
    Progress progress(stream, {true, 100, 5, false});
    progress.report(some_step(12));
    progress.end();
    stream << "trained";
  }
  EXPECT_TRUE(stream.str().ends_with("\ntrained")) << stream.str();
}

TEST(Progress, the_bar_line_never_wraps_and_cuts_no_figure) {
  for (int columns = 0; columns < 140; ++columns) {
    const std::string line = progress_bar_line(some_step(7), columns);
    EXPECT_LE(display_width(line), columns);
    if (columns < 20) continue;
    EXPECT_NE(line.find("loss 1.2500"), std::string::npos) << line;
    EXPECT_EQ(line.find("tokens") != std::string::npos,
              line.find("1,234 tokens/s") != std::string::npos);
  }
  EXPECT_NE(progress_bar_line(some_step(7), 120).find("700.0 MiB"), std::string::npos);
}

TEST(Progress, says_lines_without_any_step) {
  std::ostringstream stream;
  { Progress(stream, {true, 80, 1, false}).say("loading"); }
  EXPECT_EQ(stream.str(), "loading\n");
}

TEST(TrainerLog, lines_have_llama_factorys_keys) {
  const std::string path = testing::TempDir() + "/cairn_trainer_log.jsonl";
  TrainerLog log(path);
  StepReport report = some_step(3);
  report.eval_loss = 2.5;
  log.write(report);
  log.write(some_step(4));

  std::ifstream file(path);  // before the log is closed: it is flushed line by line
  std::vector<nlohmann::json> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0], (nlohmann::json{{"current_steps", 3},
                                      {"total_steps", 12},
                                      {"loss", 1.25},
                                      {"lr", 1e-4},
                                      {"epoch", 0.5},
                                      {"percentage", 25.0},
                                      {"elapsed_time", "0:01:05"},
                                      {"remaining_time", "1:00:00"},
                                      {"throughput", 1234.57},
                                      {"total_tokens", 4096}}));
  EXPECT_EQ(lines[1]["eval_loss"], 2.5);
  EXPECT_FALSE(lines[1].contains("loss"));
  EXPECT_EQ(lines[2]["current_steps"], 4);
  std::remove(path.c_str());
}

TEST(TrainerLog, stays_readable_when_the_loss_is_not_a_number) {
  const std::string path = testing::TempDir() + "/cairn_trainer_log_nan.jsonl";
  TrainerLog log(path);
  StepReport report = some_step(1);
  report.loss = std::nan("");
  report.seconds_left = 2 * 86400 + 3661;
  log.write(report);
  std::ifstream file(path);
  const nlohmann::json line = nlohmann::json::parse(file);
  EXPECT_TRUE(line["loss"].is_null());
  EXPECT_EQ(line["remaining_time"], "2 days, 1:01:01");
  std::remove(path.c_str());
}

TEST(TrainerLog, a_folder_that_is_not_there_is_a_users_error) {
  EXPECT_THROW(TrainerLog("/nowhere/at/all/trainer_log.jsonl"), UserError);
}

}  // namespace
}  // namespace cairn
