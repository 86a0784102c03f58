// ggml's K-quants: super-blocks of 256 elements, whose parts have scales that are codes themselves.
// Source: ggml-common.h and ggml-quants.c.
#pragma once

#include <cstddef>

namespace cairn {

inline constexpr int kSuperBlock = 256;

// One super-block from `in` to 256 floats.
void widen_q4_k(const std::byte* in, float* out);
void widen_q5_k(const std::byte* in, float* out);
void widen_q6_k(const std::byte* in, float* out);

}  // namespace cairn
