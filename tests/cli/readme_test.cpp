// The README is executed: each ```sh block marked <!-- tested --> runs line by line from the
// project's folder, with the program of this build in the place of build/release/cairn.
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "support/program.h"

namespace cairn::test {
namespace {

const std::string kSourceDir = CAIRN_SOURCE_DIR;

// The lines of the block that opens with `fence` and comes next after the line `mark`, of every
// such mark of the page.
std::vector<std::string> marked_lines(const std::string& page, const std::string& mark,
                                      const std::string& fence) {
  std::ifstream in(kSourceDir + "/" + page);
  std::vector<std::string> lines;
  bool marked = false, inside = false;
  for (std::string line; std::getline(in, line);) {
    if (inside && line == "```") {
      inside = false;
    } else if (inside) {
      lines.push_back(line);
    } else {
      inside = marked && line == fence;
      marked = line == mark;
    }
  }
  return lines;
}

// A trailing backslash joins a line with the next.
std::vector<std::string> tested_commands(const std::string& page) {
  std::vector<std::string> commands;
  bool joined = false;
  for (const std::string& line : marked_lines(page, "<!-- tested -->", "```sh")) {
    if (joined)
      commands.back().replace(commands.back().size() - 1, 1, line);
    else
      commands.push_back(line);
    joined = line.ends_with('\\');
  }
  return commands;
}

std::string with_this_program(std::string command) {
  const std::string released = "build/release/cairn";
  for (size_t at = 0; (at = command.find(released, at)) != std::string::npos;) {
    const std::string program = "'" CAIRN_PROGRAM "'";
    command.replace(at, released.size(), program);
    at += program.size();
  }
  return command;
}

TEST(Readme, every_tested_command_does_what_the_page_says) {
  const std::vector<std::string> commands = tested_commands("README.md");
  ASSERT_FALSE(commands.empty()) << "README.md has no block marked <!-- tested -->";
  for (const std::string& command : commands) {
    const Outcome outcome = run_command(kSourceDir, with_this_program(command));
    EXPECT_EQ(outcome.exit_code, 0) << command << "\n" << outcome.output;
    EXPECT_FALSE(outcome.output.empty()) << command << " printed nothing";
  }
}

// The plan that the page shows: name and bytes of each account that no machine changes (workspace
// grows with threads, and shares with it).
TEST(Readme, the_plan_it_shows_is_the_plan_that_is_made) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's own memory is a part of the process, and so of the plan";
#endif
  const std::vector<std::string> commands = tested_commands("README.md");
  ASSERT_FALSE(commands.empty());
  const std::string output = run_command(kSourceDir, with_this_program(commands.front())).output;
  int held = 0;
  for (const std::string& line : marked_lines("README.md", "<!-- tested -->", "```text"))
    for (const char* account : {"weights ", "gradients ", "optimizer ", "activations "}) {
      if (!line.starts_with(account)) continue;
      const std::string said = line.substr(0, line.find("iB") + 2);
      EXPECT_NE(output.find(said), std::string::npos) << "wanted \"" << said << "\", got\n"
                                                      << output;
      ++held;
    }
  EXPECT_EQ(held, 4) << "README.md shows no plan marked <!-- tested -->";
}

// The lines of every block that opens with this fence.
std::vector<std::string> fenced_lines(const std::string& page, const std::string& fence) {
  std::ifstream in(kSourceDir + "/" + page);
  std::vector<std::string> lines;
  bool inside = false;
  for (std::string line; std::getline(in, line);) {
    if (inside && line != "```")
      lines.push_back(line);
    else
      inside = !inside && line == fence;
  }
  return lines;
}

// What one page says to type and shows as an answer, the other says too.
TEST(Readme, the_chinese_page_has_the_same_commands_and_answers) {
  for (const char* fence : {"```sh", "```text"}) {
    const std::vector<std::string> english = fenced_lines("README.md", fence);
    EXPECT_FALSE(english.empty());
    EXPECT_EQ(fenced_lines("README.zh-CN.md", fence), english) << fence;
  }
  EXPECT_EQ(tested_commands("README.zh-CN.md"), tested_commands("README.md"));
}

}  // namespace
}  // namespace cairn::test
