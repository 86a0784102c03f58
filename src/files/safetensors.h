// The safetensors format: a reader that believes nothing until the whole header is checked against
// the file's size, and a writer that streams. Source: huggingface/safetensors (README, tensor.rs).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/shape.h"
#include "files/atomic_file.h"
#include "files/input_file.h"
#include "files/tensor_source.h"

namespace cairn {

// The reference reader's cap on the header; the writer keeps to it too.
inline constexpr int64_t kMaxSafetensorsHeader = 100'000'000;

using SafetensorsMetadata = std::map<std::string, std::string>;

// One file. Opening it validates everything: no tensor can lie outside the file or over another.
class SafetensorsFile : public TensorSource {
 public:
  // Throws DamagedFile (what was found instead of a safetensors file, expected and actual size) and
  // UserError when there is no such file.
  explicit SafetensorsFile(std::string path);

  const std::vector<TensorInfo>& tensors() const override { return tensors_; }
  const std::string& path() const override { return file_.path(); }
  const SafetensorsMetadata& metadata() const { return metadata_; }
  void read_rows(const TensorInfo& info, int64_t first_row, int64_t row_count, View out,
                 std::span<std::byte> scratch) const override;
  void read_bytes(const TensorInfo& info, int64_t begin, std::span<std::byte> out) const override;

 private:
  InputFile file_;
  std::vector<TensorInfo> tensors_;  // in order of offset
  SafetensorsMetadata metadata_;
};

// What is to be written.
struct TensorSpec {
  std::string name;
  FileType type = FileType::f32;
  Shape shape;
};

// Writes one file: the list first, then each tensor's bytes in pieces, so that a caller can stream
// from a device through a small scratch. Nothing appears under the final name before finish().
class SafetensorsWriter {
 public:
  // Throws UserError when the header would exceed the reader's cap, DeviceError when the disk is
  // too full for all of it.
  SafetensorsWriter(std::string path, std::vector<TensorSpec> tensors,
                    const SafetensorsMetadata& metadata);

  // The next bytes of a tensor. Tensors in any order, the pieces of one tensor in theirs.
  void append(std::string_view name, std::span<const std::byte> bytes);
  // Every tensor must be complete. Syncs and renames.
  void finish();
  // Bytes of the whole file.
  int64_t file_bytes() const { return file_bytes_; }

 private:
  struct Slot {
    int64_t begin;    // in the file
    int64_t bytes;    // in all
    int64_t written;  // so far
  };

  AtomicFile file_;
  std::unordered_map<std::string, Slot> slots_;
  int64_t file_bytes_ = 0;
};

}  // namespace cairn
