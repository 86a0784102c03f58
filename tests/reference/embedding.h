// Rows of a table by token, and their gradient, in any scalar.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "reference/bounded.h"

namespace cairn::reference {

template <typename T>
std::vector<T> embedding_forward(const std::vector<double>& ids, const std::vector<T>& table,
                                 int64_t hidden, double scale = 1) {
  std::vector<T> out;
  for (const double id : ids)
    for (int64_t i = 0; i < hidden; ++i)
      out.push_back(scale * table[static_cast<int64_t>(id) * hidden + i]);
  return out;
}

// d_table receives what is added to it.
template <typename T>
Bounded<T> embedding_backward(const std::vector<double>& ids, const std::vector<T>& d_out,
                              int64_t vocab, int64_t hidden, double scale = 1) {
  Bounded<T> d_table(vocab * hidden);
  for (size_t token = 0; token < ids.size(); ++token)
    for (int64_t i = 0; i < hidden; ++i) {
      const T term = scale * d_out[static_cast<int64_t>(token) * hidden + i];
      d_table.add(static_cast<int64_t>(ids[token]) * hidden + i, term, std::abs(term));
    }
  return d_table;
}

}  // namespace cairn::reference
