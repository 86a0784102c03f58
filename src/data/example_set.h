// ExampleSet: the examples of a run in their order, each a place in a token store. What they hold
// is read when it is asked for.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "data/batch.h"
#include "data/sampler.h"
#include "data/token_store.h"

namespace cairn {

// Where a row's tokens are.
struct ExamplePlace {
  uint32_t store = 0;    // which of the set's
  uint32_t example = 0;  // of that store

  bool operator==(const ExamplePlace&) const = default;
};

using TokenStores = std::vector<std::shared_ptr<const TokenStore>>;

class ExampleSet {
 public:
  ExampleSet() = default;
  ExampleSet(TokenStores stores, std::vector<ExamplePlace> places)
      : stores_(std::move(stores)), places_(std::move(places)) {}

  int64_t size() const { return static_cast<int64_t>(places_.size()); }
  bool empty() const { return places_.empty(); }
  ExampleSize size_of(int64_t i) const;
  std::vector<ExampleSize> sizes() const;
  std::vector<int64_t> lengths() const;  // tokens of each
  Example read(int64_t i) const;
  const std::vector<ExamplePlace>& places() const { return places_; }
  const TokenStores& stores() const { return stores_; }

 private:
  const StoredExample& entry(int64_t i) const;

  TokenStores stores_;
  std::vector<ExamplePlace> places_;
};

// The batch of one micro-batch; its samples are numbered as in the set.
Batch make_batch(const ExampleSet& examples, const MicroBatch& micro_batch);

}  // namespace cairn
