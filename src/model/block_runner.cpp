#include "model/block_runner.h"

#include <string>

namespace cairn {
namespace {

std::string block_name(size_t index) { return "block " + std::to_string(index); }

}  // namespace

BlockRunner::BlockRunner(const Pass& pass, std::span<const Block> blocks,
                         const CheckpointPolicy& policy, int64_t hidden)
    : pass_(pass),
      blocks_(blocks),
      policy_(policy),
      hidden_(hidden),
      pages_(pass, policy, hidden),
      saved_(blocks.size()) {
  CAIRN_CHECK(policy.size() == blocks.size(), "[block runner] wanted a policy of {} blocks, got {}",
              blocks.size(), policy.size());
}

Tensor BlockRunner::run(size_t index, Keep keep) {
  pass_.open_weights(unit_of_block(index));
  const Ledger::Scope scope(pass_.exec.arena.ledger(), block_name(index));
  Saved& saved = saved_[index];
  auto now = std::make_unique<BlockSaved>();
  const bool stays = keep == Keep::everything || keep == Keep::selected;
  now->mlp.stays = stays;
  Tensor output = make_rows("output");
  blocks_[index].forward(pass_, pass_.filled(saved.input), *now, pass_.filled(output),
                         keep == Keep::selected ? policy_[index].recomputed : MemberSet());
  if (stays) saved.block = std::move(now);
  return output;
}

Tensor BlockRunner::forward(Tensor hidden) {
  for (size_t i = 0; i < blocks_.size(); ++i) {
    const Keep keep = policy_[i].first;
    saved_[i].input = std::move(hidden);
    hidden = run(i, keep);
    if (keep == Keep::paged_input) pages_.store(i, pass_.filled(std::as_const(saved_[i].input)));
    if (keep == Keep::paged_input || keep == Keep::nothing) saved_[i].input.reset();
  }
  return hidden;
}

void BlockRunner::restore_segment(size_t last) {
  size_t begin = last;
  while (policy_[begin].first == Keep::nothing) --begin;
  for (size_t i = begin; i < last; ++i) saved_[i + 1].input = run(i, policy_[i].again);
}

void BlockRunner::restore(size_t index) {
  Saved& saved = saved_[index];
  if (policy_[index].first == Keep::paged_input) {
    saved.input = make_rows("input");
    pages_.fetch(index, pass_.filled(saved.input));
  }
  if (!saved.input) restore_segment(index);
  pass_.open_weights(unit_of_block(index));
  if (saved.block) return;
  const Ledger::Scope scope(pass_.exec.arena.ledger(), block_name(index));
  saved.block = std::make_unique<BlockSaved>();
  blocks_[index].forward(pass_, pass_.filled(std::as_const(saved.input)), *saved.block, View());
}

void BlockRunner::backward(View d, bool input_gradient) {
  for (size_t i = blocks_.size(); i-- > 0;) {
    restore(i);
    OpenGradients gradients(pass_, blocks_[i].trained);
    const Ledger::Scope scope(pass_.exec.arena.ledger(), block_name(i));
    blocks_[i].backward(pass_, pass_.filled(std::as_const(saved_[i].input)), *saved_[i].block, d,
                        input_gradient || i > 0);
    saved_[i] = Saved();
    gradients.complete();
  }
}

Tensor run_blocks(const Pass& pass, std::span<const Block> blocks, Tensor hidden) {
  for (size_t i = 0; i < blocks.size(); ++i) {
    pass.open_weights(unit_of_block(i));
    const Ledger::Scope scope(pass.exec.arena.ledger(), block_name(i));
    BlockSaved dropped;
    Tensor output = pass.make_activation("output", hidden.shape()[1]);
    blocks[i].forward(pass, pass.filled(std::as_const(hidden)), dropped, pass.filled(output));
    hidden = std::move(output);
  }
  return hidden;
}

}  // namespace cairn
