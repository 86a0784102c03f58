// Floats in storage, f32 or bf16, as SIMD kernels receive them: a pointer and which of the two it
// is.
#pragma once

#include "memory/view.h"

namespace cairn::cpu {

struct FloatsOut {
  std::byte* data = nullptr;
  bool is_bf16 = false;

  FloatsOut() = default;
  FloatsOut(float* floats) : data(reinterpret_cast<std::byte*>(floats)) {}
  FloatsOut(View view) : data(view.data()), is_bf16(view.dtype() == DType::bf16) {}
  float* as_f32() const { return reinterpret_cast<float*>(data); }
  uint16_t* as_bf16() const { return reinterpret_cast<uint16_t*>(data); }
  explicit operator bool() const { return data != nullptr; }
};

struct FloatsIn {
  const std::byte* data = nullptr;
  bool is_bf16 = false;

  FloatsIn() = default;
  FloatsIn(const float* floats) : data(reinterpret_cast<const std::byte*>(floats)) {}
  FloatsIn(ConstView view) : data(view.data()), is_bf16(view.dtype() == DType::bf16) {}
  FloatsIn(View view) : FloatsIn(ConstView(view)) {}
  FloatsIn(FloatsOut out) : data(out.data), is_bf16(out.is_bf16) {}
  const float* as_f32() const { return reinterpret_cast<const float*>(data); }
  const uint16_t* as_bf16() const { return reinterpret_cast<const uint16_t*>(data); }
  explicit operator bool() const { return data != nullptr; }
};

}  // namespace cairn::cpu
