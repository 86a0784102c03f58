// DeviceBatch: a batch's indices on the device, i32 tensors at capacity, of the activations
// account.
#pragma once

#include "data/batch.h"
#include "model/model.h"

namespace cairn {

class DeviceBatch {
 public:
  // Sends the batch; its vectors may be smaller than the capacity. `drops`: with its samples, so
  // that the pass may drop.
  DeviceBatch(const Exec& exec, const Batch& batch, const Capacity& capacity, bool drops = false);

  // The pass of this batch through a model; this object must outlive it. `pages` holds block inputs
  // that page, if the policy has any.
  Pass make_pass(const Model& model, PageStore* pages = nullptr) const;

 private:
  Tensor send(std::string_view label, const std::vector<int32_t>& values, int64_t capacity);

  const Exec& exec_;
  Extent capacity_, extent_;
  Tensor ids_, positions_, samples_, cu_segments_, labelled_rows_, labels_;
};

}  // namespace cairn
