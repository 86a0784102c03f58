#include "own_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>

namespace cairn::program {
namespace {

constexpr const char* kThisProgram = "/proc/self/exe";

void require(int error, const char* what) {
  if (error != 0) throw std::system_error(error, std::generic_category(), what);
}

// The child writes into `output` instead of stdout.
pid_t start(const std::vector<std::string>& arguments, int output) {
  std::vector<char*> words = {const_cast<char*>("cairn")};
  for (const std::string& argument : arguments)
    words.push_back(const_cast<char*>(argument.c_str()));
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  require(posix_spawn_file_actions_init(&actions), "a process could not be prepared");
  int error = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  pid_t child = 0;
  if (error == 0)
    error = posix_spawn(&child, kThisProgram, &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  require(error, "a process could not be started");
  return child;
}

std::string read_to_end(int descriptor) {
  std::string text;
  char piece[4096];
  while (true) {
    const ssize_t count = read(descriptor, piece, sizeof piece);
    if (count == 0) return text;
    if (count > 0)
      text.append(piece, static_cast<size_t>(count));
    else if (errno != EINTR)
      return text;  // the exit status tells what became of it
  }
}

}  // namespace

void end_with_parent() { prctl(PR_SET_PDEATHSIG, SIGTERM); }

std::string output_of_own_process(const std::vector<std::string>& arguments) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) require(errno, "a pipe could not be opened");
  pid_t child = 0;
  try {
    child = start(arguments, ends[1]);
  } catch (...) {
    close(ends[0]);
    close(ends[1]);
    throw;
  }
  close(ends[1]);
  std::string text = read_to_end(ends[0]);
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) require(errno, "a process could not be waited for");
  if (WIFSIGNALED(status))
    throw std::runtime_error(fmt::format("the process of '{}' was stopped by signal {}",
                                         arguments.back(), WTERMSIG(status)));
  if (WEXITSTATUS(status) != 0)
    throw std::runtime_error(fmt::format("the process of '{}' ended with exit code {}",
                                         arguments.back(), WEXITSTATUS(status)));
  return text;
}

}  // namespace cairn::program
