// Block: one decoder layer, attention then MLP. Forward and backward are explicit; recomputation
// calls the same forward.
#pragma once

#include "model/gradient_store.h"
#include "model/layers/attention.h"
#include "model/layers/mlp.h"

namespace cairn {

// What a block leaves for its backward besides its input.
struct BlockSaved {
  AttentionSaved attention;
  Tensor middle;  // [T, hidden], between attention and MLP
  MlpSaved mlp;
};

struct Block {
  SelfAttention attention;
  Mlp mlp;
  Unit trained;  // its trained parameters

  // y [tokens, hidden], or none when only what backward needs is wanted. Members in `dropped` are
  // not left behind.
  void forward(const Pass& pass, ConstView x, BlockSaved& saved, View y,
               MemberSet dropped = {}) const;
  // d [tokens, hidden] f32 is the gradient of y on entry, of x on return.
  void backward(const Pass& pass, ConstView x, BlockSaved& saved, View d,
                bool input_gradient) const;
  // Generation: the batch continues the sequence in `cache`.
  void forward_cached(const Pass& pass, ConstView x, KvCache& cache, int64_t layer,
                      ConstView cu_keys, View y) const;
};

}  // namespace cairn
