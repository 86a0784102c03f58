// BlockRunner: the heart of the engine. Forward pushes what each block saves, backward pops it;
// what the policy did not keep is computed again first, by the same functions.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "model/block.h"
#include "model/paged_inputs.h"

namespace cairn {

class BlockRunner {
 public:
  BlockRunner(const Pass& pass, std::span<const Block> blocks, const CheckpointPolicy& policy,
              int64_t hidden);

  // Takes the embedded rows [tokens, hidden], returns the last block's output.
  Tensor forward(Tensor hidden);
  // d [tokens, hidden] f32 is the gradient of the output on entry, of the embedded rows on return
  // (if asked for).
  void backward(View d, bool input_gradient);

 private:
  struct Saved {
    Tensor input;
    std::unique_ptr<BlockSaved> block;  // none: computed again from `input`
  };

  // Runs a block on its saved input; returns its output.
  Tensor run(size_t index, Keep keep);
  // Makes `input` and `block` of that block whole.
  void restore(size_t index);
  // Runs the blocks of the segment that ends with `last` again.
  void restore_segment(size_t last);
  Tensor make_rows(std::string_view label) const { return pass_.make_activation(label, hidden_); }

  const Pass& pass_;
  std::span<const Block> blocks_;
  const CheckpointPolicy& policy_;
  int64_t hidden_;
  PagedInputs pages_;
  std::vector<Saved> saved_;  // one per block
};

// All blocks where no backward follows: nothing is kept.
Tensor run_blocks(const Pass& pass, std::span<const Block> blocks, Tensor hidden);

}  // namespace cairn
