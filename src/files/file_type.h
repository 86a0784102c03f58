// How elements lie in model files: the dtypes of safetensors and the block formats of ggml. Every
// type of either format is known by name and size, so that what cannot be read is refused by name.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/dtype.h"

namespace cairn {

enum class FileType : uint8_t {
  // Readable as f32 or bf16.
  f32,
  f16,
  bf16,
  f64,
  q4_0,
  q4_1,
  q5_0,
  q5_1,
  q8_0,
  q4_k,
  q5_k,
  q6_k,
  // Known from safetensors; only their bytes can be read.
  boolean,
  u8,
  i8,
  i16,
  u16,
  i32,
  u32,
  i64,
  u64,
  f8_e4m3,
  f8_e4m3fnuz,
  f8_e5m2,
  f8_e5m2fnuz,
  f8_e8m0,
  f6_e2m3,
  f6_e3m2,
  f4,
  c64,
  // Known from ggml; refused.
  q8_1,
  q2_k,
  q3_k,
  q8_k,
  iq2_xxs,
  iq2_xs,
  iq3_xxs,
  iq1_s,
  iq4_nl,
  iq3_s,
  iq2_s,
  iq4_xs,
  iq1_m,
  tq1_0,
  tq2_0,
  mxfp4,
};

// As the formats spell them: "F32", "BF16", "Q4_1", "F8_E4M3".
std::string_view name_of(FileType type);
// A block is the least that can be addressed: block_elements(type) elements in block_bytes(type).
int64_t block_elements(FileType type);
int64_t block_bytes(FileType type);
// Whether TensorSource::read can give it as f32 or bf16.
bool is_readable(FileType type);
// Integers and booleans: buffers of a checkpoint, never weights of a model that Cairn trains.
bool is_integer(FileType type);

// The safetensors dtype of that name.
std::optional<FileType> file_type_of_safetensors(std::string_view name);
// The ggml type of that number.
std::optional<FileType> file_type_of_ggml(uint32_t id);
// The type that storage in memory is written as.
FileType file_type_of(DType dtype);

}  // namespace cairn
