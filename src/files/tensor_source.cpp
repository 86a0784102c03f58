#include "files/tensor_source.h"

#include <algorithm>

#include "base/error.h"

namespace cairn {

const TensorInfo* TensorSource::find(std::string_view name) const {
  std::call_once(indexed_, [this] {
    const std::vector<TensorInfo>& all = tensors();
    index_.reserve(all.size());
    for (size_t at = 0; at < all.size(); ++at) index_.emplace(all[at].name, at);
  });
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &tensors()[found->second];
}

void TensorSource::read_bytes(const TensorInfo& info, int64_t, std::span<std::byte>) const {
  throw UserError(
      fmt::format("{}: the bytes of '{}' cannot be read as they lie", path(), info.name));
}

const TensorInfo& TensorSource::require(std::string_view name) const {
  if (const TensorInfo* info = find(name)) return *info;
  std::string some;
  const size_t shown = std::min<size_t>(tensors().size(), 3);
  for (size_t at = 0; at < shown; ++at) some += (at ? ", " : "") + tensors()[at].name;
  throw DamagedFile(
      fmt::format("{} holds no tensor {}; among its {} are {}: give the weights that "
                  "belong to the model's configuration.",
                  path(), name, tensors().size(), some));
}

}  // namespace cairn
