// The one place that names concrete backends.
#pragma once

#include <algorithm>
#include <memory>
#include <string>

#include "backend/backend.h"
#include "memory/page_store.h"

namespace cairn {

inline constexpr int kMostThreads = 4096;

// "cpu" runs; threads 0 means every core this process may use. What is not built answers by name
// with a UserError.
std::unique_ptr<Backend> open_backend(const std::string& device, int threads);

// Operations counted by a rehearsal.
struct Work {
  double gemm_flops = 0;   // products, 2 per multiply-add; attention counts the causal half only
  double bytes_moved = 0;  // by everything that is no product
  double page_bytes = 0;   // to and from the page store
  double link_bytes = 0;   // sent to other ranks
  // Paging and sending run beside computing, and paging takes something from it: the longest of the
  // three is what is waited for.
  double seconds(const TargetProfile& profile) const {
    return std::max({gemm_flops / profile.gemm_flops + bytes_moved / profile.bytes_per_second +
                         page_bytes * profile.page_slowdown,
                     page_bytes / profile.page_bytes_per_second,
                     link_bytes / profile.link_bytes_per_second});
  }
};

class RehearsalBackend : public Backend {
 public:
  // A store that moves nothing and counts.
  virtual PageStore& pages() = 0;
  virtual Work work() const = 0;
  virtual void reset_work() = 0;
};

// Runs the same step without touching memory: addresses fault, operations are counted. Scratch
// sizes are those of `target`, the backend that `profile` describes.
std::unique_ptr<RehearsalBackend> open_rehearsal(const TargetProfile& profile);

// Of the CPU's kernels, as Highway calls it: "AVX2". The environment variable CAIRN_SIMD=avx2 holds
// a machine that has more to that.
std::string cpu_instruction_set();

// The profile of this machine's CPU with that many threads (0: all).
TargetProfile cpu_profile(int threads);

// The profile of what open_backend would open, with its refusals.
TargetProfile profile_of(const std::string& device, int threads);

// Floating-point operations a second of one product, by each implementation this build has on the
// CPU, run in turns; 0 where one cannot run it.
struct GemmRates {
  double packed = 0;       // our own kernels on operands as stored
  double onednn_f32 = 0;   // oneDNN on f32 operands
  double onednn_bf16 = 0;  // oneDNN on bf16 operands, where the machine has units for them
};
// The same product three times: as a model stores its operands, all f32, and all bf16. `scratch`
// holds gemm_rates_scratch_bytes of the same arguments. Each implementation runs `repeats` times.
int64_t gemm_rates_scratch_bytes(const Gemm& f32, const Gemm& bf16, int threads);
GemmRates measure_gemm_rates(const Gemm& stored, const Gemm& f32, const Gemm& bf16, int threads,
                             View scratch, int repeats);

}  // namespace cairn
