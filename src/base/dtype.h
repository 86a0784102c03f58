// Storage types of tensor elements. Arithmetic is always f32 (sums of losses f64).
#pragma once

#include <cstdint>
#include <string_view>

namespace cairn {

enum class DType : uint8_t { f32, bf16, f16, f64, i32, u8 };

// Bytes of one element.
int64_t size_of(DType dtype);

// "f32", "bf16", ...
std::string_view name_of(DType dtype);

}  // namespace cairn
