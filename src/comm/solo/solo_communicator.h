// SoloCommunicator: one rank alone. Whatever it shares it has already.
#pragma once

#include <cstring>

#include "comm/communicator.h"
#include "comm/rank_sum.h"

namespace cairn {

class SoloCommunicator : public Communicator {
 public:
  SoloCommunicator() : Communicator(World()) {}

 private:
  int64_t start(Transfer transfer) override {
    for (const SharedPart& part : transfer.parts) {
      if (part.share.data() == part.whole.data()) continue;
      if (transfer.kind == Collective::all_gather)
        std::memcpy(part.whole.data(), part.share.data(), static_cast<size_t>(part.whole.bytes()));
      const ConstView term = part.whole;
      if (transfer.kind == Collective::reduce_scatter)
        sum_in_rank_order({&term, 1}, transfer.accumulates, part.share);
    }
    return 0;
  }
  void wait(int64_t) override {}
};

}  // namespace cairn
