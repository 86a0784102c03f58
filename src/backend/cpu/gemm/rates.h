// The rate of a product on this machine, for calibration: measured, never assumed.
#pragma once

#include <cstddef>

#include "backend/cpu/gemm/gemm.h"

namespace cairn::cpu {

// Floating-point operations a second of the product as the door runs it: the median over runs that
// take about `seconds` together, at least three. c is overwritten; `scratch` as for gemm().
double measure_gemm_flops(const Gemm& gemm, int threads, std::byte* scratch, ComputeType compute,
                          double seconds);

}  // namespace cairn::cpu
