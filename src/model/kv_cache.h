// KvCache: the keys and values of the tokens seen so far, of one sequence, for generation. Held in
// the activations account at the capacity that the plan rehearsed.
#pragma once

#include <vector>

#include "model/config.h"
#include "model/pass.h"

namespace cairn {

class KvCache {
 public:
  // Takes [capacity, kv_heads, head_dim] for keys and for values of every layer.
  KvCache(const Exec& exec, const ModelConfig& config, DType activation, int64_t capacity);

  int64_t capacity() const { return capacity_; }
  int64_t length() const { return length_; }
  // Where the next `count` tokens of a layer go; [count, kv_heads, head_dim].
  View view_next_keys(int64_t layer, int64_t count);
  View view_next_values(int64_t layer, int64_t count);
  // Everything seen, the next `count` included.
  ConstView view_keys(int64_t layer, int64_t count) const;
  ConstView view_values(int64_t layer, int64_t count) const;
  // Called once all layers have written `count` tokens.
  void advance(int64_t count) { length_ += count; }

 private:
  std::vector<Tensor> keys_, values_;
  int64_t capacity_;
  int64_t length_ = 0;
};

}  // namespace cairn
