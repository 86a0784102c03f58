// TargetProfile: what a plan must know of a target: scratch sizes, threads, rates. Plain data with
// no backend in it, so that a laptop can plan for a server.
#pragma once

#include <cstdint>
#include <string>

namespace cairn {

struct TargetProfile {
  // CUDA devices below this compute capability have no FlashAttention.
  static constexpr int kFlashCapability = 80;

  std::string name = "cpu";
  int threads = 1;                     // how many scratches of threads are taken
  double gemm_flops = 2e11;            // floating-point operations a second, f32 arithmetic
  double bytes_per_second = 1.5e10;    // memory moved by everything that is no product
  double page_bytes_per_second = 1e9;  // to and from the page store
  double page_slowdown = 0;            // seconds that a byte moved there takes from computing
  double link_bytes_per_second = 5e9;  // from one rank to the others, beside computing
  bool measured = false;               // all but the link's rate, on this machine; else usual ones
  int compute_capability = 0;          // of a CUDA device, 80 for 8.0; 0: no CUDA device

  // The CPU's own kernels are tiled.
  bool has_flash_attention() const {
    return compute_capability == 0 || compute_capability >= kFlashCapability;
  }
};

}  // namespace cairn
