// The implementations of a product side by side, run in turns so that a noisy machine is noisy to
// all.
#include <algorithm>
#include <chrono>
#include <functional>
#include <vector>

#include "backend/cpu/gemm/gemm.h"
#include "backend/cpu/gemm/onednn.h"
#include "backend/cpu/gemm/packed.h"
#include "backend/registry.h"

namespace cairn {
namespace {

double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

}  // namespace

int64_t gemm_rates_scratch_bytes(const Gemm& f32, const Gemm& bf16, int threads) {
  // Without units for bf16, oneDNN may have no product of it at all: not on AVX2.
  return std::max(
      {cpu::gemm_scratch_bytes(threads), cpu::onednn_gemm_scratch_bytes(f32, threads),
       cpu::onednn_has_fast_bf16() ? cpu::onednn_gemm_scratch_bytes(bf16, threads) : 0});
}

GemmRates measure_gemm_rates(const Gemm& stored, const Gemm& f32, const Gemm& bf16, int threads,
                             View scratch, int repeats) {
  std::byte* room = scratch.data();
  const std::vector<std::function<void()>> work = {[&] { cpu::gemm(stored, threads, room); },
                                                   [&] { cpu::onednn_gemm(f32, threads, room); },
                                                   [&] {
                                                     if (cpu::onednn_has_fast_bf16())
                                                       cpu::onednn_gemm(bf16, threads, room);
                                                   }};
  std::vector<std::vector<double>> seconds(work.size());
  for (int repeat = 0; repeat <= repeats; ++repeat)
    for (size_t i = 0; i < work.size(); ++i) {
      const double time = seconds_of(work[i]);
      if (repeat > 0) seconds[i].push_back(time);  // the first turn warms up
    }
  const double operations = 2.0 * static_cast<double>(cpu::rows_of(stored)) *
                            static_cast<double>(cpu::columns_of(stored)) *
                            static_cast<double>(cpu::depth_of(stored));
  GemmRates rates;
  rates.packed = operations / median(seconds[0]);
  rates.onednn_f32 = operations / median(seconds[1]);
  if (cpu::onednn_has_fast_bf16()) rates.onednn_bf16 = operations / median(seconds[2]);
  return rates;
}

}  // namespace cairn
