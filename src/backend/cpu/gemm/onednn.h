// Products by oneDNN's matmul: worth having where its bf16 units (AMX) beat f32. The only door to
// the library; onednn.cpp compiles with its versions 2 and 3.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/kernels.h"

namespace cairn::cpu {

// Whether this machine multiplies bf16 on matrix units.
bool onednn_has_fast_bf16();

// Before its first product: it uses nothing newer than AVX2.
void hold_onednn_to_avx2();

// Whether oneDNN can express the product: no folded term, no scale, both operands of one type.
bool onednn_takes(const Gemm& gemm);

// Scratch of a product that onednn_takes. Builds the primitive and keeps it, as the next function
// does when it meets a new shape.
int64_t onednn_gemm_scratch_bytes(const Gemm& gemm, int threads);

// Computes c; `scratch` holds onednn_gemm_scratch_bytes. Of a shape met before, allocates nothing
// but a few handles.
void onednn_gemm(const Gemm& gemm, int threads, std::byte* scratch);

}  // namespace cairn::cpu
