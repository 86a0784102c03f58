// Runs a command as a user would, from a shell without a terminal, and keeps what it said.
#pragma once

#include <sys/wait.h>

#include <cstdio>
#include <string>

namespace cairn::test {

struct Outcome {
  int exit_code = 0;
  std::string output;  // stdout and stderr together
};

// `folder` is the working directory.
inline Outcome run_command(const std::string& folder, const std::string& command) {
  const std::string whole = "cd '" + folder + "' && (" + command + ") 2>&1 </dev/null";
  FILE* pipe = popen(whole.c_str(), "r");
  if (!pipe) return {-1, "the shell could not be started"};
  Outcome outcome;
  char piece[4096];
  for (size_t count; (count = fread(piece, 1, sizeof piece, pipe)) > 0;)
    outcome.output.append(piece, count);
  const int status = pclose(pipe);
  outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return outcome;
}

}  // namespace cairn::test
