// The door: which implementation takes a product, and the scratch that serves both.
#include "backend/cpu/gemm/gemm.h"

#include "backend/cpu/gemm/packed.h"

namespace cairn::cpu {

int64_t gemm_scratch_bytes(int threads) { return packed_gemm_scratch_bytes(threads); }

GemmImplementation choose_gemm(const Gemm&, int, ComputeType) { return GemmImplementation::packed; }

void gemm(const Gemm& gemm, int threads, std::byte* scratch, ComputeType compute) {
  (void)compute;
  packed_gemm(gemm, threads, scratch);
}

void warm_gemm(const Gemm&, int, ComputeType) {}

}  // namespace cairn::cpu
