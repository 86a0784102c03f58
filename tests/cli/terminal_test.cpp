// What someone at a terminal sees.
#include <pty.h>

#include "cli/small_program.h"

namespace cairn::test {
namespace {

std::string shown_on_terminal(const std::string& folder, const std::string& command) {
  winsize size{};
  size.ws_row = 24;
  size.ws_col = 100;
  int terminal = -1;
  const pid_t child = forkpty(&terminal, nullptr, nullptr, &size);
  if (child == 0) {
    const std::string whole = "cd '" + folder + "' && exec " + command;
    execl("/bin/sh", "sh", "-c", whole.c_str(), nullptr);
    _exit(127);
  }
  std::string shown;
  char piece[4096];
  // The read fails once the child has closed its side.
  for (ssize_t count; (count = read(terminal, piece, sizeof piece)) > 0;)
    shown.append(piece, static_cast<size_t>(count));
  close(terminal);
  waitpid(child, nullptr, 0);
  return shown;
}

TEST_F(Program, on_a_terminal_the_result_begins_below_the_progress_line) {
  const std::string shown =
      shown_on_terminal(folder_.string(), CAIRN_PROGRAM " train recipe.yaml max_steps=2");
  const size_t result = shown.find("trained 2 steps");
  ASSERT_NE(result, std::string::npos) << shown;
  EXPECT_NE(shown.find("2/2 ["), std::string::npos) << shown;
  EXPECT_EQ(shown[result - 1], '\n') << shown;
  EXPECT_EQ(shown.find("\n\r\n", result), std::string::npos) << shown;
}

}  // namespace
}  // namespace cairn::test
