// Storage types of tensor elements. Arithmetic is always f32 (sums of losses f64).
#pragma once

#include <cstdint>
#include <string_view>

namespace cairn {

// u4: codes of half a byte, the first of two in the upper half; what they stand for lies beside
// them.
enum class DType : uint8_t { f32, bf16, f16, f64, i32, u8, u4 };

// Bytes of one element; not for u4.
int64_t size_of(DType dtype);
// Bytes of so many elements that lie end to end.
int64_t bytes_of(DType dtype, int64_t elements);

// "f32", "bf16", ...
std::string_view name_of(DType dtype);

}  // namespace cairn
