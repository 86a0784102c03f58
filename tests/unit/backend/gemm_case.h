// One matrix product as a test states it: extents, storage and options; its operands between
// canaries, and the float64 reference.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "backend/cpu/gemm/gemm.h"
#include "base/random.h"
#include "numeric/bfloat16.h"
#include "support/tolerance.h"

namespace cairn::test {

struct GemmCase {
  int64_t m, n, k;
  bool transpose_a = false, transpose_b = false;
  DType a = DType::f32, b = DType::f32, c = DType::f32;
  float alpha = 1, beta = 0;
  bool residual = false;
  int64_t rank = 0;

  std::string to_string() const {
    return fmt::format(
        "m={} n={} k={} ta={} tb={} a={} b={} c={} alpha={} beta={} residual={} rank={}", m, n, k,
        transpose_a, transpose_b, name_of(a), name_of(b), name_of(c), alpha, beta, residual, rank);
  }
};

// A stored matrix of random values with guard bytes on both sides.
class GuardedMatrix {
 public:
  GuardedMatrix(DType dtype, int64_t rows, int64_t columns, uint64_t stream)
      : dtype_(dtype), shape_({rows, columns}) {
    const int64_t count = rows * columns;
    bytes_.assign(static_cast<size_t>(2 * kGuard + count * size_of(dtype)), kCanary);
    const Random random(7, stream);
    for (int64_t i = 0; i < count; ++i) set(i, 2 * random.uniform(static_cast<uint64_t>(i)) - 1);
  }
  View view() { return {data(), dtype_, shape_}; }
  double at(int64_t index) const {
    if (dtype_ == DType::bf16) {
      bf16 value;
      std::memcpy(&value, bytes_.data() + kGuard + 2 * index, 2);
      return to_float(value);
    }
    float value;
    std::memcpy(&value, bytes_.data() + kGuard + 4 * index, 4);
    return value;
  }
  double at(int64_t row, int64_t column) const { return at(row * shape_[1] + column); }
  void set(int64_t index, float value) {
    const bf16 rounded = to_bf16(value);
    if (dtype_ == DType::bf16)
      std::memcpy(data() + 2 * index, &rounded, 2);
    else
      std::memcpy(data() + 4 * index, &value, 4);
  }
  bool guards_hold() const {
    for (size_t i = 0; i < kGuard; ++i)
      if (bytes_[i] != kCanary || bytes_[bytes_.size() - 1 - i] != kCanary) return false;
    return true;
  }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  static constexpr size_t kGuard = 256;
  static constexpr std::byte kCanary{0xA5};
  std::byte* data() { return bytes_.data() + kGuard; }

  DType dtype_;
  Shape shape_;
  std::vector<std::byte> bytes_;
};

// The operands of a case. `run` computes c with one of the implementations, c starting afresh.
struct GemmOperands {
  explicit GemmOperands(const GemmCase& c)
      : spec(c),
        a(c.a, c.transpose_a ? c.k : c.m, c.transpose_a ? c.m : c.k, 1),
        b(c.b, c.transpose_b ? c.n : c.k, c.transpose_b ? c.k : c.n, 2),
        residual(c.c, c.m, c.n, 3),
        up(DType::f32, c.transpose_b ? c.n : c.k, c.rank, 4),
        down(DType::bf16, c.rank, c.transpose_b ? c.k : c.n, 5),
        start(c.c, c.m, c.n, 6),
        result(start) {}

  Gemm gemm() {
    Gemm g{.a = a.view(), .b = b.view(), .c = result.view()};
    g.transpose_a = spec.transpose_a;
    g.transpose_b = spec.transpose_b;
    g.alpha = spec.alpha;
    g.beta = spec.beta;
    if (spec.residual) g.residual = residual.view();
    if (spec.rank > 0) g.fold = {up.view(), down.view(), kFoldScale};
    return g;
  }

  // Every element against the float64 sum, within what rounding explains.
  void expect_close() const {
    const Reference b_wide = wide_b();
    std::vector<double> sums(size_of_row()), magnitudes(size_of_row());
    for (int64_t i = 0; i < spec.m; ++i) {
      std::fill(sums.begin(), sums.end(), 0.0);
      std::fill(magnitudes.begin(), magnitudes.end(), 0.0);
      for (int64_t k = 0; k < spec.k; ++k) {
        const double left = spec.transpose_a ? a.at(k, i) : a.at(i, k);
        for (size_t j = 0; j < size_of_row(); ++j) {
          const size_t at = static_cast<size_t>(k) * size_of_row() + j;
          sums[j] += left * b_wide.values[at];
          magnitudes[j] += std::abs(left) * b_wide.magnitudes[at];
        }
      }
      for (int64_t j = 0; j < spec.n; ++j) {
        const auto column = static_cast<size_t>(j);
        const double base = spec.beta != 0 ? start.at(i, j) : spec.residual ? residual.at(i, j) : 0;
        const double want = spec.alpha * sums[column] + base;
        const double magnitude = std::abs(spec.alpha) * magnitudes[column] + std::abs(base);
        ASSERT_NEAR(result.at(i, j), want, tolerance(spec.c, spec.k + spec.rank) * magnitude)
            << "at (" << i << ", " << j << ") of " << spec.to_string();
      }
    }
    ASSERT_TRUE(result.guards_hold()) << spec.to_string();
  }

  static constexpr float kFoldScale = 0.5f;
  GemmCase spec;
  GuardedMatrix a, b, residual, up, down, start, result;

 private:
  // op(b) with its low-rank term, [k, n], and the magnitudes of the terms.
  struct Reference {
    std::vector<double> values, magnitudes;
  };
  size_t size_of_row() const { return static_cast<size_t>(spec.n); }
  Reference wide_b() const {
    Reference wide;
    for (int64_t k = 0; k < spec.k; ++k)
      for (int64_t j = 0; j < spec.n; ++j) {
        const int64_t row = spec.transpose_b ? j : k, column = spec.transpose_b ? k : j;
        double value = b.at(row, column), terms = std::abs(value);
        for (int64_t r = 0; r < spec.rank; ++r) {
          const double term = kFoldScale * up.at(row, r) * down.at(r, column);
          value += term;
          terms += std::abs(term);
        }
        wide.values.push_back(value);
        wide.magnitudes.push_back(terms);
      }
    return wide;
  }
};

// Scratch of exactly the promised size, between canaries.
class GemmScratch {
 public:
  explicit GemmScratch(int threads)
      : bytes_(static_cast<size_t>(cpu::gemm_scratch_bytes(threads)) + 2 * kGuard,
               std::byte{0x5A}) {}
  std::byte* data() { return bytes_.data() + kGuard; }
  bool guards_hold() const {
    for (size_t i = 0; i < kGuard; ++i)
      if (bytes_[i] != std::byte{0x5A} || bytes_[bytes_.size() - 1 - i] != std::byte{0x5A})
        return false;
    return true;
  }

 private:
  static constexpr size_t kGuard = 64;
  std::vector<std::byte> bytes_;
};

}  // namespace cairn::test
