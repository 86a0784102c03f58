// A matrix product in any scalar, operands transposed or not.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "reference/bounded.h"

namespace cairn::reference {

// op(a) [m, k] times op(b) [k, n].
template <typename T>
Bounded<T> product(const std::vector<T>& a, bool transpose_a, const std::vector<T>& b,
                   bool transpose_b, int64_t m, int64_t n, int64_t k) {
  Bounded<T> c(m * n);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j)
      for (int64_t p = 0; p < k; ++p) {
        const T term =
            a[transpose_a ? p * m + i : i * k + p] * b[transpose_b ? j * k + p : p * n + j];
        c.add(i * n + j, term, std::abs(term));
      }
  return c;
}

}  // namespace cairn::reference
