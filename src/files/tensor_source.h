// Where the tensors of a model come from: a list of names (as Hugging Face names them), types and
// shapes, and reads into the caller's memory. Weights are read, not mapped; conversions go through
// the caller's scratch, and nothing of a tensor's size is allocated here (law 1).
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/shape.h"
#include "files/file_type.h"
#include "memory/view.h"

namespace cairn {

// Scratch that lets every reader thread work on pieces that stay in its cache.
inline constexpr int64_t kReadScratchBytes = int64_t{4} << 20;
// The least scratch that a read accepts.
inline constexpr int64_t kLeastReadScratchBytes = int64_t{4} << 10;

struct TensorInfo {
  std::string name;  // Hugging Face name: "model.layers.0.self_attn.q_proj.weight"
  FileType type = FileType::f32;
  Shape shape;                // row-major, slowest first; more than four extents fold into the last
  int file = 0;               // which of the source's files
  int64_t offset = 0;         // of its first byte in that file
  int64_t bytes = 0;          // in the file
  int interleaved_heads = 0;  // > 0: rows lie as (head, pair, half); reads give (head, half, pair)
  float shift = 0;            // reads add it to every value

  int64_t rows() const { return shape.rank() == 0 ? 1 : shape[0]; }
};

class TensorSource {
 public:
  virtual ~TensorSource() = default;

  virtual const std::vector<TensorInfo>& tensors() const = 0;
  // The file or folder it was opened from, for messages.
  virtual const std::string& path() const = 0;
  // Reads rows [first_row, first_row + row_count) of a tensor of this source into host memory.
  // out: f32 or bf16, row_count rows' elements, rounded to nearest even. Several threads may read
  // into disjoint memory at once, each with scratch of its own. Throws DamagedFile on a short read.
  virtual void read_rows(const TensorInfo& info, int64_t first_row, int64_t row_count, View out,
                         std::span<std::byte> scratch) const = 0;

  // The bytes as they lie, from `begin` within the tensor: for types that are not numbers of a
  // model. Throws UserError where the format has no such types.
  virtual void read_bytes(const TensorInfo& info, int64_t begin, std::span<std::byte> out) const;

  // The whole tensor; out has shape.elements() elements.
  void read(const TensorInfo& info, View out, std::span<std::byte> scratch) const {
    read_rows(info, 0, info.rows(), out, scratch);
  }
  // nullptr when there is none of that name.
  const TensorInfo* find(std::string_view name) const;
  // Throws DamagedFile that lists a few names found instead.
  const TensorInfo& require(std::string_view name) const;

 private:
  mutable std::once_flag indexed_;  // the index is made at the first look-up
  mutable std::unordered_map<std::string_view, size_t> index_;
};

}  // namespace cairn
