#include "model/block_runner.h"

#include <string>

namespace cairn {
namespace {
std::string block_name(size_t index) { return "block " + std::to_string(index); }
}  // namespace

Tensor BlockRunner::run(size_t index, const Tensor& input, BlockSaved& saved) {
  const Ledger::Scope scope(pass_.exec.arena.ledger(), block_name(index));
  Tensor output = pass_.make_activation("output", input.shape()[1]);
  blocks_[index].forward(pass_, pass_.filled(input), saved, pass_.filled(output));
  return output;
}

Tensor BlockRunner::forward(Tensor hidden) {
  saved_.reserve(blocks_.size());
  for (size_t i = 0; i < blocks_.size(); ++i) {
    BlockSaved now;
    Tensor output = run(i, hidden, now);
    if (policy_.of_block(static_cast<int64_t>(i)) == Keep::input) now = BlockSaved();
    saved_.push_back({std::move(hidden), std::move(now)});
    hidden = std::move(output);
  }
  return hidden;
}

Tensor BlockRunner::forward_only(Tensor hidden) {
  for (size_t i = 0; i < blocks_.size(); ++i) {
    BlockSaved dropped;
    hidden = run(i, hidden, dropped);
  }
  return hidden;
}

void BlockRunner::backward(View d, bool input_gradient) {
  for (size_t i = blocks_.size(); i-- > 0;) {
    Saved saved = std::move(saved_.back());
    saved_.pop_back();
    const Ledger::Scope scope(pass_.exec.arena.ledger(), block_name(i));
    const ConstView x = pass_.filled(std::as_const(saved.input));
    if (policy_.of_block(static_cast<int64_t>(i)) == Keep::input)
      blocks_[i].forward(pass_, x, saved.block, View());
    blocks_[i].backward(pass_, x, saved.block, d, input_gradient || i > 0);
  }
}

}  // namespace cairn
