// BlockRunner: the heart of the engine. Forward pushes what each block saves, backward pops it; a
// block that kept only its input is run forward again first, by the same function.
#pragma once

#include <span>
#include <vector>

#include "model/block.h"
#include "model/checkpoint_policy.h"

namespace cairn {

class BlockRunner {
 public:
  BlockRunner(const Pass& pass, std::span<const Block> blocks, CheckpointPolicy policy)
      : pass_(pass), blocks_(blocks), policy_(policy) {}

  // Takes the embedded rows [tokens, hidden], returns the last block's output.
  Tensor forward(Tensor hidden);
  // The same where no backward follows: nothing is kept.
  Tensor forward_only(Tensor hidden);
  // d [tokens, hidden] f32 is the gradient of the output on entry, of the embedded rows on return
  // (if asked for).
  void backward(View d, bool input_gradient);

 private:
  struct Saved {
    Tensor input;
    BlockSaved block;  // empty when only the input is kept
  };

  Tensor run(size_t index, const Tensor& input, BlockSaved& saved);

  const Pass& pass_;
  std::span<const Block> blocks_;
  CheckpointPolicy policy_;
  std::vector<Saved> saved_;
};

}  // namespace cairn
