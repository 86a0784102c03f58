#include "comm/rank_sum.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "numeric/bfloat16.h"

namespace cairn {
namespace {

// Elements whose sum stays in the nearest cache.
constexpr int64_t kPiece = 1024;

float widened(float value) { return value; }
double widened(double value) { return value; }
float widened(bf16 value) { return to_float(value); }
void narrow(float value, float& out) { out = value; }
void narrow(double value, double& out) { out = value; }
void narrow(float value, bf16& out) { out = to_bf16(value); }

template <typename T>
void add_all(std::span<const ConstView> terms, bool accumulates, View out) {
  using Wide = decltype(widened(T()));
  std::array<Wide, kPiece> sum;
  T* const result = out.as<T>();
  for (int64_t begin = 0; begin < out.elements(); begin += kPiece) {
    const int64_t count = std::min(kPiece, out.elements() - begin);
    for (size_t term = 0; term < terms.size(); ++term) {
      const T* const values = terms[term].as<T>() + begin;
      Wide* const to = sum.data();
      if (term == 0) {
#pragma omp simd
        for (int64_t i = 0; i < count; ++i) to[i] = widened(values[i]);
      } else {
#pragma omp simd
        for (int64_t i = 0; i < count; ++i) to[i] += widened(values[i]);
      }
    }
    for (int64_t i = 0; i < count; ++i) {
      const Wide value = sum[static_cast<size_t>(i)];
      T& element = result[begin + i];
      narrow(accumulates ? widened(element) + value : value, element);
    }
  }
}

}  // namespace

void sum_in_rank_order(std::span<const ConstView> terms, bool accumulates, View out) {
  for (const ConstView& term : terms)
    CAIRN_CHECK(term.dtype() == out.dtype() && term.elements() == out.elements(),
                "[rank sum] wanted terms of {} elements in {}, got {} in {}", out.elements(),
                name_of(out.dtype()), term.elements(), name_of(term.dtype()));
  switch (out.dtype()) {
    case DType::f32:
      return add_all<float>(terms, accumulates, out);
    case DType::bf16:
      return add_all<bf16>(terms, accumulates, out);
    case DType::f64:
      return add_all<double>(terms, accumulates, out);
    default:
      CAIRN_CHECK(false, "[rank sum] wanted f32, bf16 or f64, got {}", name_of(out.dtype()));
  }
}

}  // namespace cairn
