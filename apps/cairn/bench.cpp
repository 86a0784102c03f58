// cairn bench: what this machine does, beside the limit it is held to, interleaved in one run.
#include "commands.h"

namespace cairn::program {

Command add_bench(CLI::App&) {
  return [] { return kDone; };
}

}  // namespace cairn::program
