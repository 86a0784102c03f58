#include "model/kv_cache.h"

#include "base/error.h"

namespace cairn {

KvCache::KvCache(const Exec& exec, const ModelConfig& config, DType activation, int64_t capacity)
    : capacity_(capacity) {
  const Shape shape{capacity, config.num_kv_heads, config.head_dim};
  for (int64_t layer = 0; layer < config.num_layers; ++layer) {
    keys_.push_back(exec.make(Account::activations, "key cache", activation, shape));
    values_.push_back(exec.make(Account::activations, "value cache", activation, shape));
  }
}

View KvCache::view_next_keys(int64_t layer, int64_t count) {
  CAIRN_CHECK(length_ + count <= capacity_, "[kv_cache] wanted at most {} tokens, got {}",
              capacity_, length_ + count);
  return keys_[static_cast<size_t>(layer)].view().view_rows(length_, count);
}

View KvCache::view_next_values(int64_t layer, int64_t count) {
  return values_[static_cast<size_t>(layer)].view().view_rows(length_, count);
}

ConstView KvCache::view_keys(int64_t layer, int64_t count) const {
  return keys_[static_cast<size_t>(layer)].view_rows(length_ + count);
}

ConstView KvCache::view_values(int64_t layer, int64_t count) const {
  return values_[static_cast<size_t>(layer)].view_rows(length_ + count);
}

}  // namespace cairn
