// The metadata keys of one architecture in a GGUF: "llama.block_count" is Section(gguf, "llama")'s
// block_count.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "files/gguf.h"

namespace cairn {

// Keys of one architecture.
class GgufSection {
 public:
  GgufSection(const GgufFile& gguf, std::string_view name) : gguf_(gguf), prefix_(name) {}
  std::string key(std::string_view name) const { return fmt::format("{}.{}", prefix_, name); }
  bool has(std::string_view name) const { return gguf_.find(key(name)) != nullptr; }
  int64_t positive(std::string_view name) const {
    const int64_t value = gguf_.count(key(name));
    if (value > 0) return value;
    throw DamagedFile(
        fmt::format("{} gives {} as 0, where at least 1 was expected.", gguf_.path(), key(name)));
  }
  int64_t positive(std::string_view name, int64_t fallback) const {
    return has(name) ? positive(name) : fallback;
  }
  const GgufFile& gguf() const { return gguf_; }
  double number(std::string_view name, double fallback) const {
    return gguf_.number(key(name), fallback);
  }
  double positive_number(std::string_view name, std::optional<double> fallback = {}) const {
    const double value = fallback ? gguf_.number(key(name), *fallback) : gguf_.number(key(name));
    if (value > 0 && value <= std::numeric_limits<float>::max()) return value;
    throw DamagedFile(fmt::format("{} gives {} as {}, where a positive number was expected.",
                                  gguf_.path(), key(name), value));
  }
  std::string text(std::string_view name, std::string_view fallback) const {
    return has(name) ? gguf_.text(key(name)) : std::string(fallback);
  }

 private:
  const GgufFile& gguf_;
  std::string_view prefix_;
};

// nullptr when the file has no such tensor.
inline const TensorInfo* gguf_tensor_of(const GgufFile& gguf, std::string_view name) {
  for (const TensorInfo& info : gguf.tensors())
    if (info.name == name) return &info;
  return nullptr;
}

}  // namespace cairn
