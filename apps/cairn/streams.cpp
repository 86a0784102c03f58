#include "streams.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "readable.h"

namespace cairn::program {

void guard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    // The lowest free number is the one just found closed; opened to read, it refuses writes.
    if (fcntl(stream, F_GETFD) < 0 && open("/dev/null", O_RDONLY) != stream) _exit(1);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

void tell(std::string_view text) {
  const std::string shown = readable(text);
  std::fwrite(shown.data(), 1, shown.size(), stderr);
}

bool deliver_stdout() {
  errno = 0;
  if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return true;
  tell("cairn: the answer could not be written to standard output{}\n",
       errno == 0 ? "" : fmt::format(": {}", std::strerror(errno)));
  return false;
}

}  // namespace cairn::program
