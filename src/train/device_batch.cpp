#include "train/device_batch.h"

#include "base/error.h"

namespace cairn {

DeviceBatch::DeviceBatch(const Exec& exec, const Batch& batch, const Capacity& capacity, bool drops)
    : exec_(exec),
      capacity_{capacity.tokens, capacity.segments, capacity.labelled_rows,
                capacity.longest_segment},
      extent_{batch.tokens(), batch.segments(), batch.labelled(), batch.longest_segment} {
  const Ledger::Scope scope(exec.arena.ledger(), "batch");
  ids_ = send("ids", batch.ids, capacity.tokens);
  positions_ = send("positions", batch.positions, capacity.tokens);
  if (drops) samples_ = send("samples", batch.samples, capacity.tokens);
  cu_segments_ = send("cu segments", batch.cu_seqlens, capacity.segments + 1);
  labelled_rows_ = send("labelled rows", batch.labelled_rows, capacity.labelled_rows);
  labels_ = send("labels", batch.labelled_targets, capacity.labelled_rows);
}

Tensor DeviceBatch::send(std::string_view label, const std::vector<int32_t>& values,
                         int64_t capacity) {
  const auto count = static_cast<int64_t>(values.size());
  CAIRN_CHECK(count <= capacity, "[batch] wanted at most {} {}, got {}", capacity, label, count);
  Tensor tensor = exec_.make(Account::activations, label, DType::i32, {capacity});
  exec_.backend.device().copy_to_device(exec_.stream, values.data(), tensor.view().data(),
                                        count * size_of(DType::i32));
  return tensor;
}

Pass DeviceBatch::make_pass(const Model& model, PageStore* pages) const {
  return {.exec = exec_,
          .capacity = capacity_,
          .extent = extent_,
          .activation = model.spec().activation,
          .ids = ids_.view_rows(extent_.tokens),
          .positions = positions_.view_rows(extent_.tokens),
          .cu_segments = cu_segments_.view_rows(extent_.segments + 1),
          .labelled_rows = labelled_rows_.view_rows(extent_.labelled_rows),
          .labels = labels_.view_rows(extent_.labelled_rows),
          .rope_table = model.rope_table(),
          .local_rope_table = model.local_rope_table(),
          .samples = samples_ ? samples_.view_rows(extent_.tokens) : ConstView(),
          .pages = pages,
          .weights = model.streamed()};
}

}  // namespace cairn
