// SharedGradients: a unit's gradients are whole only until its backward is done; then the sum over
// ranks is added to this rank's share of them. The next unit's backward runs meanwhile.
#pragma once

#include <vector>

#include "comm/communicator.h"
#include "model/gradient_store.h"

namespace cairn {

class SharedGradients : public GradientStore {
 public:
  // `storage` of gradients; `overlap`: transfers run beside the next unit's backward.
  SharedGradients(const Exec& exec, Communicator& ranks, DType storage, bool overlap);

  void open(const Unit& unit) override;
  void close(const Unit& unit) override;
  // The pass is over: waits for the last unit's transfer.
  void finish();

 private:
  const Exec& exec_;
  Communicator& ranks_;
  DType storage_;
  bool overlap_;
  std::vector<Tensor> leaving_;  // of the unit under way to its shares
  Pending pending_;              // ends before they go
};

}  // namespace cairn
