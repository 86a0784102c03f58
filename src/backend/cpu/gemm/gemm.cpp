// The door: which implementation takes a product, and the scratch that serves both.
#include "backend/cpu/gemm/gemm.h"

#include "backend/cpu/gemm/onednn.h"
#include "backend/cpu/gemm/packed.h"

namespace cairn::cpu {

int64_t gemm_scratch_bytes(int threads) { return packed_gemm_scratch_bytes(threads); }

GemmImplementation choose_gemm(const Gemm& gemm, int threads, ComputeType compute) {
  const bool wanted = compute == ComputeType::bf16 && gemm.a.dtype() == DType::bf16 &&
                      gemm.b.dtype() == DType::bf16 && onednn_has_fast_bf16();
  if (wanted && onednn_takes(gemm) &&
      onednn_gemm_scratch_bytes(gemm, threads) <= gemm_scratch_bytes(threads))
    return GemmImplementation::onednn;
  return GemmImplementation::packed;
}

void gemm(const Gemm& gemm, int threads, std::byte* scratch, ComputeType compute) {
  if (choose_gemm(gemm, threads, compute) == GemmImplementation::onednn)
    onednn_gemm(gemm, threads, scratch);
  else
    packed_gemm(gemm, threads, scratch);
}

}  // namespace cairn::cpu
