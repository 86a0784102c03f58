// The door of every matrix product on the CPU. Two implementations stand behind it: `packed`, our
// own kernels, takes any product and its bits depend neither on `threads` nor on which rows share a
// call; `onednn` takes products of two stored bf16 operands when asked to compute in bf16 on a
// machine with AMX: several times faster, but its sums may be cut differently for other threads or
// rows. Scratch is a constant of the target: neither shapes nor the budget change it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/kernels.h"

namespace cairn::cpu {

// f32: operands are widened, products and sums are f32. bf16: two bf16 operands may be multiplied
// by the machine's bf16 units, sums stay f32.
enum class ComputeType : uint8_t { f32, bf16 };

enum class GemmImplementation : uint8_t { packed, onednn };

// Bytes of scratch that any product needs with that many threads.
int64_t gemm_scratch_bytes(int threads);

// Which implementation takes this product.
GemmImplementation choose_gemm(const Gemm& gemm, int threads, ComputeType compute);

// Computes c; `scratch` holds gemm_scratch_bytes(threads). packed allocates nothing, onednn a few
// handles below 1 KiB once the shape is warm.
void gemm(const Gemm& gemm, int threads, std::byte* scratch,
          ComputeType compute = ComputeType::f32);

// The extents of a product, read off its views.
inline int64_t rows_of(const Gemm& gemm) { return gemm.c.shape()[0]; }
inline int64_t columns_of(const Gemm& gemm) { return gemm.c.shape()[1]; }
inline int64_t depth_of(const Gemm& gemm) {
  return gemm.transpose_a ? gemm.a.shape()[0] : gemm.a.shape()[1];
}

}  // namespace cairn::cpu
