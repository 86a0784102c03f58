// The one tolerance of the tests: what rounding explains, as a function of storage and of how many
// terms were added. Multiply it by the sum of the terms' magnitudes.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/dtype.h"

namespace cairn::test {

// Half a unit in the last place of `dtype`, relative.
inline double unit_roundoff(DType dtype) {
  switch (dtype) {
    case DType::bf16:
      return std::ldexp(1.0, -8);
    case DType::f16:
      return std::ldexp(1.0, -11);
    case DType::f64:
      return std::ldexp(1.0, -53);
    default:
      return std::ldexp(1.0, -24);
  }
}

// Relative error of a sum of `length` terms in f32 whose result is stored as `dtype`; f64 is summed
// in f64. Rounding errors of a sum add up like a random walk; the factor covers its tail.
inline double tolerance(DType dtype, int64_t length) {
  const double accumulated = (4 + 2 * std::sqrt(static_cast<double>(length))) *
                             unit_roundoff(dtype == DType::f64 ? DType::f64 : DType::f32);
  return accumulated + (dtype == DType::f32 || dtype == DType::f64 ? 0 : unit_roundoff(dtype));
}

// What an exponential may lose when its result has no normal f32.
inline constexpr double kUnderflow = 0x1p-126;

}  // namespace cairn::test
