// Products and attention, handed to their folders.
#include "backend/cpu/attention/attention.h"
#include "backend/cpu/attention/materialised.h"
#include "backend/cpu/cpu_kernels.h"
#include "backend/cpu/gemm/gemm.h"

namespace cairn {

int64_t CpuKernels::gemm_scratch_bytes() { return cpu::gemm_scratch_bytes(threads_); }

void CpuKernels::gemm(Stream, const Gemm& gemm, View scratch) {
  cpu::gemm(gemm, threads_, scratch.data());
}

int64_t CpuKernels::attention_scratch_bytes(int64_t head_dim, bool backward) {
  return cpu::attention_scratch_bytes(threads_, head_dim, backward);
}

void CpuKernels::attention_forward(Stream, const Attention& attention, View out, View log_sum_exp,
                                   View scratch) {
  cpu::attention_forward(attention, out, log_sum_exp, threads_, scratch.data());
}

void CpuKernels::attention_backward(Stream, const Attention& attention, ConstView out,
                                    ConstView log_sum_exp, ConstView d_out, View delta, View d_q,
                                    View d_k, View d_v, View scratch) {
  cpu::attention_backward(attention, out, log_sum_exp, d_out, delta, d_q, d_k, d_v, threads_,
                          scratch.data());
}

int64_t CpuKernels::attention_materialised_scratch_bytes(int64_t longest_segment) {
  return cpu::attention_materialised_scratch_bytes(threads_, longest_segment);
}

void CpuKernels::attention_materialised_forward(Stream, const Attention& attention, View out,
                                                View probabilities, View scratch) {
  cpu::attention_materialised_forward(attention, out, probabilities, threads_, scratch.data());
}

void CpuKernels::attention_materialised_backward(Stream, const Attention& attention,
                                                 ConstView probabilities, ConstView d_out, View d_q,
                                                 View d_k, View d_v, View scratch) {
  cpu::attention_materialised_backward(attention, probabilities, d_out, d_q, d_k, d_v, threads_,
                                       scratch.data());
}

}  // namespace cairn
