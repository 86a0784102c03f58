// The writer: offsets are settled before the first byte, in the order that the reference library
// uses (element size descending, then name), so that every tensor lies aligned.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "base/error.h"
#include "files/safetensors.h"

namespace cairn {
namespace {

constexpr int64_t kLengthBytes = 8;
constexpr int64_t kHeaderAlignment = 8;

int64_t bytes_of(const TensorSpec& spec) {
  CAIRN_CHECK(file_type_of_safetensors(name_of(spec.type)) == spec.type,
              "[safetensors] wanted a safetensors dtype for {}, got {}", spec.name,
              name_of(spec.type));
  const int64_t elements = spec.shape.elements();
  CAIRN_CHECK(elements % block_elements(spec.type) == 0,
              "[safetensors] wanted whole bytes of {}, got {} elements of {}", name_of(spec.type),
              elements, spec.name);
  return elements / block_elements(spec.type) * block_bytes(spec.type);
}

void sort_for_alignment(std::vector<TensorSpec>& tensors) {
  std::sort(tensors.begin(), tensors.end(), [](const TensorSpec& a, const TensorSpec& b) {
    const int64_t size_a = block_bytes(a.type), size_b = block_bytes(b.type);
    return size_a != size_b ? size_a > size_b : a.name < b.name;
  });
}

void append_entry(std::string& text, const TensorSpec& spec, int64_t begin, int64_t bytes) {
  if (text.size() > 1) text += ',';
  text += nlohmann::json(spec.name).dump();
  text += fmt::format(":{{\"dtype\":\"{}\",\"shape\":[", name_of(spec.type));
  for (int axis = 0; axis < spec.shape.rank(); ++axis)
    text += (axis ? "," : "") + std::to_string(spec.shape[axis]);
  text += fmt::format("],\"data_offsets\":[{},{}]}}", begin, begin + bytes);
}

// The header's JSON, padded so that the data begin aligned.
std::string header_of(const std::vector<TensorSpec>& tensors, const SafetensorsMetadata& metadata,
                      const std::string& path) {
  std::string text = "{";
  if (!metadata.empty()) text += "\"__metadata__\":" + nlohmann::json(metadata).dump();
  int64_t end = 0;
  for (const TensorSpec& spec : tensors) {
    const int64_t bytes = bytes_of(spec);
    append_entry(text, spec, end, bytes);
    end += bytes;
  }
  text += '}';
  text.resize(static_cast<size_t>(round_up(static_cast<int64_t>(text.size()), kHeaderAlignment)),
              ' ');
  if (static_cast<int64_t>(text.size()) > kMaxSafetensorsHeader)
    throw UserError(
        fmt::format("{} would need a safetensors header of {} bytes for its {} tensors, where "
                    "readers accept {}: "
                    "write it in more shards.",
                    path, text.size(), tensors.size(), kMaxSafetensorsHeader));
  return text;
}

}  // namespace

SafetensorsWriter::SafetensorsWriter(std::string path, std::vector<TensorSpec> tensors,
                                     const SafetensorsMetadata& metadata)
    : file_(std::move(path)) {
  sort_for_alignment(tensors);
  const std::string text = header_of(tensors, metadata, file_.path());
  int64_t end = kLengthBytes + static_cast<int64_t>(text.size());
  for (const TensorSpec& spec : tensors) {
    const int64_t bytes = bytes_of(spec);
    CAIRN_CHECK(
        slots_.emplace(spec.name, Slot{end, bytes, 0}).second && spec.name != "__metadata__",
        "[safetensors] wanted one tensor of a name, got {} twice", spec.name);
    end += bytes;
  }
  file_bytes_ = end;
  file_.reserve(file_bytes_);
  const uint64_t length = text.size();
  file_.append(std::as_bytes(std::span(&length, 1)));
  file_.append(std::as_bytes(std::span(text)));
}

void SafetensorsWriter::append(std::string_view name, std::span<const std::byte> bytes) {
  const auto found = slots_.find(std::string(name));
  CAIRN_CHECK(found != slots_.end(), "[safetensors] wanted a tensor of the list, got {}", name);
  Slot& slot = found->second;
  CAIRN_CHECK(slot.written + static_cast<int64_t>(bytes.size()) <= slot.bytes,
              "[safetensors] wanted {} bytes of {}, got {} more after {}", slot.bytes, name,
              bytes.size(), slot.written);
  file_.write_at(slot.begin + slot.written, bytes);
  slot.written += static_cast<int64_t>(bytes.size());
}

void SafetensorsWriter::finish() {
  for (const auto& [name, slot] : slots_)
    CAIRN_CHECK(slot.written == slot.bytes, "[safetensors] wanted {} bytes of {}, got {}",
                slot.bytes, name, slot.written);
  file_.commit();
}

}  // namespace cairn
