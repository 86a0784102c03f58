#include "stop_signal.h"

#include <signal.h>
#include <unistd.h>

#include <csignal>
#include <initializer_list>

namespace cairn::program {
namespace {

volatile std::sig_atomic_t asked = 0;
bool tells_signals = false;

// Only what may be called from a signal.
void on_signal(int number) {
  if (asked) {
    signal(number, SIG_DFL);
    raise(number);
    return;
  }
  asked = 1;
  if (!tells_signals) return;
  constexpr char text[] =
      "\ncairn: stopping after this step with a checkpoint; a second signal stops at once\n";
  // A terminal that is gone costs no checkpoint.
  if (write(STDERR_FILENO, text, sizeof text - 1) < 0) return;
}

}  // namespace

void stop_at_signals(bool tells) {
  tells_signals = tells;
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (const int number : {SIGTERM, SIGINT, SIGUSR1}) {
    // Who started the program may have wanted it ignored, as shells do for jobs in the background.
    struct sigaction before {};
    if (sigaction(number, nullptr, &before) == 0 && before.sa_handler == SIG_IGN) continue;
    sigaction(number, &action, nullptr);
  }
}

bool stop_was_asked() { return asked != 0; }

}  // namespace cairn::program
