// Times runs of one product and takes the median.
#include "backend/cpu/gemm/rates.h"

#include <algorithm>
#include <chrono>
#include <vector>

namespace cairn::cpu {
namespace {

double seconds_of_run(const Gemm& product, int threads, std::byte* scratch, ComputeType compute) {
  const auto start = std::chrono::steady_clock::now();
  gemm(product, threads, scratch, compute);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

double measure_gemm_flops(const Gemm& product, int threads, std::byte* scratch, ComputeType compute,
                          double seconds) {
  // The first run warms caches, pages and the team.
  gemm(product, threads, scratch, compute);
  std::vector<double> runs;
  double spent = 0;
  while (runs.size() < 3 || spent < seconds) {
    runs.push_back(seconds_of_run(product, threads, scratch, compute));
    spent += runs.back();
  }
  const auto middle = runs.begin() + static_cast<std::ptrdiff_t>(runs.size() / 2);
  std::nth_element(runs.begin(), middle, runs.end());
  const double operations = 2.0 * static_cast<double>(rows_of(product)) *
                            static_cast<double>(columns_of(product)) *
                            static_cast<double>(depth_of(product));
  return operations / *middle;
}

}  // namespace cairn::cpu
