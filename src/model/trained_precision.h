// How trained parameters are held: bytes of weight, gradient, master copy, two moments.
#pragma once

#include <cstdint>

#include "base/dtype.h"

namespace cairn {

enum class TrainedPrecision : uint8_t {
  f32,        // 4, 4, 0, 8
  mixed,      // 2, 2, 4, 8
  pure_bf16,  // 2, 2, 0, 4, stochastic rounding
};

// Of trained weights and their gradients.
constexpr DType trained_storage(TrainedPrecision precision) {
  return precision == TrainedPrecision::f32 ? DType::f32 : DType::bf16;
}

}  // namespace cairn
