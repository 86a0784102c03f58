#include "data/example_set.h"

#include "base/error.h"

namespace cairn {

const StoredExample& ExampleSet::entry(int64_t i) const {
  CAIRN_CHECK(i >= 0 && i < size(), "[example_set] wanted an example below {}, got {}", size(), i);
  const ExamplePlace place = places_[static_cast<size_t>(i)];
  return stores_[place.store]->at(place.example);
}

ExampleSize ExampleSet::size_of(int64_t i) const {
  const StoredExample& stored = entry(i);
  return {int64_t{stored.tokens}, int64_t{stored.trained_labels}};
}

std::vector<ExampleSize> ExampleSet::sizes() const {
  std::vector<ExampleSize> sizes;
  sizes.reserve(places_.size());
  for (int64_t i = 0; i < size(); ++i) sizes.push_back(size_of(i));
  return sizes;
}

std::vector<int64_t> ExampleSet::lengths() const {
  std::vector<int64_t> lengths;
  lengths.reserve(places_.size());
  for (int64_t i = 0; i < size(); ++i) lengths.push_back(size_of(i).tokens);
  return lengths;
}

Example ExampleSet::read(int64_t i) const {
  const ExamplePlace place = places_.at(static_cast<size_t>(i));
  Example example = stores_[place.store]->read(place.example);
  if (example.origin.record > 0) example.origin.dataset = static_cast<int32_t>(place.store);
  return example;
}

Batch make_batch(const ExampleSet& examples, const MicroBatch& micro_batch) {
  if (micro_batch.empty()) return make_batch(std::span<const Example>(), micro_batch);
  std::vector<Example> read;
  read.reserve(micro_batch.size());
  for (const int64_t i : micro_batch) read.push_back(examples.read(i));
  std::vector<const Example*> chosen;
  for (const Example& example : read) chosen.push_back(&example);
  Batch batch = make_batch(chosen);
  for (int32_t& sample : batch.samples)
    sample = static_cast<int32_t>(micro_batch[static_cast<size_t>(sample)]);
  return batch;
}

}  // namespace cairn
