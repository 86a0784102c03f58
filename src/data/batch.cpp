// Joining examples into a batch, and the extents a batch needs.
#include "data/batch.h"

#include <algorithm>

#include "base/error.h"

namespace cairn {

Batch make_batch(std::span<const Example* const> examples) {
  const Capacity capacity = capacity_of(examples);
  const auto tokens = static_cast<size_t>(capacity.tokens);
  Batch batch;
  batch.ids.reserve(tokens);
  batch.positions.reserve(tokens);
  batch.samples.reserve(tokens);
  batch.targets.reserve(tokens);
  batch.cu_seqlens.reserve(examples.size() + 1);
  batch.labelled_rows.reserve(static_cast<size_t>(capacity.labelled_rows));
  batch.labelled_targets.reserve(static_cast<size_t>(capacity.labelled_rows));
  batch.longest_segment = capacity.longest_segment;
  batch.cu_seqlens.push_back(0);
  for (size_t i = 0; i < examples.size(); ++i) {
    const Example* const example = examples[i];
    batch.samples.insert(batch.samples.end(), example->ids.size(), static_cast<int32_t>(i));
    const auto& labels = example->labels;
    for (size_t t = 0; t < example->ids.size(); ++t) {
      const int32_t target = t + 1 < labels.size() ? labels[t + 1] : kIgnored;
      if (target != kIgnored) {
        batch.labelled_rows.push_back(static_cast<int32_t>(batch.ids.size()));
        batch.labelled_targets.push_back(target);
      }
      batch.ids.push_back(example->ids[t]);
      batch.positions.push_back(static_cast<int32_t>(t));
      batch.targets.push_back(target);
    }
    batch.cu_seqlens.push_back(static_cast<int32_t>(batch.ids.size()));
  }
  return batch;
}

Capacity capacity_of(const Batch& batch) {
  return {batch.tokens(), batch.longest_segment, batch.segments(), batch.labelled()};
}

Capacity capacity_of(std::span<const Example* const> examples) {
  Capacity capacity;
  for (const Example* example : examples) {
    CAIRN_CHECK(!example->ids.empty() && example->ids.size() == example->labels.size(),
                "[batch] wanted an example with tokens and as many labels, got {} and {}",
                example->ids.size(), example->labels.size());
    capacity.tokens += example->tokens();
    capacity.longest_segment = std::max(capacity.longest_segment, example->tokens());
    capacity.labelled_rows += example->trained_labels();
    ++capacity.segments;
  }
  return capacity;
}

Capacity elementwise_max(const Capacity& a, const Capacity& b) {
  return {std::max(a.tokens, b.tokens), std::max(a.longest_segment, b.longest_segment),
          std::max(a.segments, b.segments), std::max(a.labelled_rows, b.labelled_rows)};
}

}  // namespace cairn
