// RehearsalCommunicator: one rank of a world that is not there. Nothing moves; what would be sent
// is counted.
#pragma once

#include "comm/communicator.h"

namespace cairn {

class RehearsalCommunicator : public Communicator {
 public:
  explicit RehearsalCommunicator(World world) : Communicator(world) {}

 private:
  int64_t start(Transfer) override { return 0; }
  void wait(int64_t) override {}
};

}  // namespace cairn
