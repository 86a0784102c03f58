// TargetProfile: what a plan must know of a target: scratch sizes, threads, rates. Plain data with
// no backend in it, so that a laptop can plan for a server.
#pragma once

#include <cstdint>
#include <string>

namespace cairn {

struct TargetProfile {
  std::string name = "cpu";
  int threads = 1;                     // how many scratches of threads are taken
  double gemm_flops = 2e11;            // floating-point operations a second, f32 arithmetic
  double bytes_per_second = 1.5e10;    // memory moved by everything that is no product
  double page_bytes_per_second = 1e9;  // to and from the page store, beside computing
  int64_t memory_bytes = 0;            // of the device; 0: ask the machine
};

}  // namespace cairn
