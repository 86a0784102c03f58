// Our own matrix product: operands are packed panel by panel (decoded, transposed, low-rank term
// added) and multiplied by a register tile chosen for the instruction set at run time. Every
// element of c is one chain of multiply-adds per block of depth, the blocks added in order: the
// same bits whatever the threads and whatever the other rows.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/cpu/gemm/packed_job.h"
#include "backend/kernels.h"

namespace cairn::cpu {

int64_t packed_gemm_scratch_bytes(int threads);

// Takes every product that kernels.h allows.
void packed_gemm(const Gemm& gemm, int threads, std::byte* scratch);

// A product of operands that lie within larger rows, by the calling thread alone; `scratch` is that
// of one thread.
void packed_product(const PackedJob& job, std::byte* scratch);

}  // namespace cairn::cpu
