#include "base/dtype.h"

#include "base/error.h"

namespace cairn {

int64_t size_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
    case DType::i32:
      return 4;
    case DType::bf16:
    case DType::f16:
      return 2;
    case DType::f64:
      return 8;
    case DType::u8:
      return 1;
    case DType::u4:
      break;
  }
  CAIRN_CHECK(false, "[size_of] wanted a type of whole bytes, got {}", name_of(dtype));
}

int64_t bytes_of(DType dtype, int64_t elements) {
  return dtype == DType::u4 ? (elements + 1) / 2 : elements * size_of(dtype);
}

std::string_view name_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return "f32";
    case DType::bf16:
      return "bf16";
    case DType::f16:
      return "f16";
    case DType::f64:
      return "f64";
    case DType::i32:
      return "i32";
    case DType::u8:
      return "u8";
    case DType::u4:
      return "u4";
  }
  return "?";
}

}  // namespace cairn
