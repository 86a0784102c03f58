// Attention with its whole score matrix, and its derivative, in any scalar: double against the
// kernels, complex<double> for derivatives by a complex step. Beside each result stands its
// magnitude: the same sums over absolute values, times what an error of the scores does to a
// probability.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <vector>

#include "reference/bounded.h"

namespace cairn::reference {

struct AttentionSizes {
  int64_t heads = 1, kv_heads = 1, head_dim = 1;
  std::vector<int32_t> cu_queries, cu_keys;
  double scale = 1;
  double softcap = 0;  // 0: none
  int64_t window = 0;  // 0: none

  int64_t tokens() const { return cu_queries.back(); }
  int64_t kv_tokens() const { return cu_keys.back(); }
};

template <typename T>
struct AttentionResult {
  Bounded<T> out, log_sum_exp;
};

template <typename T>
struct AttentionGradients {
  Bounded<T> delta, d_q, d_k, d_v;
};

// Probabilities of one query: row `query` of q and head, over the keys from `first_key` on, which
// is key `first_column` of its segment.
template <typename T>
struct AttentionRow {
  int64_t query = 0, head = 0, kv_head = 0, first_key = 0, first_column = 0;
  std::vector<T> probability;
  std::vector<T> slope;  // of a capped score by its scaled score
  T log_sum_exp = std::numeric_limits<double>::infinity();
  double sensitivity = 1;  // relative error of a probability per relative error of a score's terms

  // Where the row of k and v that probability j belongs to begins.
  int64_t key_element(const AttentionSizes& s, size_t j) const {
    return ((first_key + static_cast<int64_t>(j)) * s.kv_heads + kv_head) * s.head_dim;
  }
};

// Calls body(row) for every query and head, in order; a row that sees no key has no probability.
template <typename T, typename Body>
void for_each_attention_row(const AttentionSizes& s, const std::vector<T>& q,
                            const std::vector<T>& k, const Body& body) {
  const auto at = [](const std::vector<T>& v, int64_t i) { return v[static_cast<size_t>(i)]; };
  for (size_t segment = 0; segment + 1 < s.cu_queries.size(); ++segment) {
    const int64_t queries = s.cu_queries[segment + 1] - s.cu_queries[segment];
    const int64_t keys = s.cu_keys[segment + 1] - s.cu_keys[segment];
    for (int64_t i = 0; i < queries; ++i)
      for (int64_t head = 0; head < s.heads; ++head) {
        AttentionRow<T> row;
        row.query = s.cu_queries[segment] + i;
        row.head = head;
        row.kv_head = head / (s.heads / s.kv_heads);
        const int64_t end = std::min(keys, i + 1 + keys - queries);
        if (s.window > 0) row.first_column = std::max<int64_t>(0, end - s.window);
        row.first_key = s.cu_keys[segment] + row.first_column;
        double largest = -std::numeric_limits<double>::infinity();
        for (int64_t j = 0; j < end - row.first_column; ++j) {
          T score = 0;
          double terms = 0;
          for (int64_t c = 0; c < s.head_dim; ++c) {
            const T term =
                at(q, (row.query * s.heads + head) * s.head_dim + c) *
                at(k, ((row.first_key + j) * s.kv_heads + row.kv_head) * s.head_dim + c) * s.scale;
            score += term;
            terms += std::abs(term);
          }
          const T tangent = s.softcap > 0 ? std::tanh(score / s.softcap) : T(0);
          if (s.softcap > 0) score = s.softcap * tangent;
          row.slope.push_back(T(1) - tangent * tangent);
          row.probability.push_back(score);
          largest = std::max(largest, std::real(score));
          row.sensitivity = std::max(row.sensitivity, 1 + terms);
        }
        T sum = 0;
        for (T& p : row.probability) sum += p = std::exp(p - largest);
        for (T& p : row.probability) p /= sum;
        if (!row.probability.empty()) {
          row.log_sum_exp = largest + std::log(sum);
          row.sensitivity += std::abs(row.log_sum_exp);
        }
        body(row);
      }
  }
}

template <typename T>
AttentionResult<T> attention_forward(const AttentionSizes& s, const std::vector<T>& q,
                                     const std::vector<T>& k, const std::vector<T>& v) {
  AttentionResult<T> result;
  result.out = Bounded<T>(s.tokens() * s.heads * s.head_dim);
  result.log_sum_exp = Bounded<T>(s.tokens() * s.heads);
  for_each_attention_row<T>(s, q, k, [&](const AttentionRow<T>& row) {
    const int64_t index = row.query * s.heads + row.head;
    result.log_sum_exp.add(index, row.log_sum_exp, row.sensitivity);
    for (size_t j = 0; j < row.probability.size(); ++j)
      for (int64_t c = 0; c < s.head_dim; ++c) {
        const int64_t key = row.first_key + static_cast<int64_t>(j);
        const T term = row.probability[j] *
                       v[static_cast<size_t>((key * s.kv_heads + row.kv_head) * s.head_dim + c)];
        result.out.add(index * s.head_dim + c, term, row.sensitivity * std::abs(term));
      }
  });
  return result;
}

// What materialised attention stores: probabilities [tokens, heads, longest_segment], 0 where
// hidden or past the segment, and the output of those, each rounded when it is stored.
template <typename T>
struct MaterialisedResult {
  Bounded<T> out, probabilities;
};

template <typename T>
MaterialisedResult<T> attention_materialised_forward(const AttentionSizes& s, int64_t longest,
                                                     const std::vector<T>& q,
                                                     const std::vector<T>& k,
                                                     const std::vector<T>& v) {
  MaterialisedResult<T> result;
  result.out = attention_forward(s, q, k, v).out;
  for (double& magnitude : result.out.magnitude) magnitude *= 2;  // two roundings
  result.probabilities = Bounded<T>(s.tokens() * s.heads * longest);
  for_each_attention_row<T>(s, q, k, [&](const AttentionRow<T>& row) {
    const int64_t start = (row.query * s.heads + row.head) * longest + row.first_column;
    for (size_t j = 0; j < row.probability.size(); ++j)
      result.probabilities.add(start + static_cast<int64_t>(j), row.probability[j],
                               row.sensitivity * std::abs(row.probability[j]));
  });
  return result;
}

template <typename T>
AttentionGradients<T> no_attention_gradients(const AttentionSizes& s) {
  AttentionGradients<T> g;
  g.delta = Bounded<T>(s.tokens() * s.heads);
  g.d_q = Bounded<T>(s.tokens() * s.heads * s.head_dim);
  g.d_k = Bounded<T>(s.kv_tokens() * s.kv_heads * s.head_dim);
  g.d_v = g.d_k;
  return g;
}

// Gradient of one probability: the product of d_out with the value.
template <typename T>
struct ProbabilityGradient {
  T value = 0;
  double magnitude = 0;
};

template <typename T>
ProbabilityGradient<T> probability_gradient(const AttentionSizes& s, const std::vector<T>& d_out,
                                            int64_t query, const std::vector<T>& v, int64_t key) {
  ProbabilityGradient<T> gradient;
  for (int64_t c = 0; c < s.head_dim; ++c) {
    const T term = d_out[static_cast<size_t>(query + c)] * v[static_cast<size_t>(key + c)];
    gradient.value += term;
    gradient.magnitude += std::abs(term);
  }
  return gradient;
}

// Adds what one row leaves in d_q, d_k and d_v; its delta stands in `g`.
template <typename T>
void add_row_gradients(const AttentionSizes& s, const AttentionRow<T>& row, const std::vector<T>& q,
                       const std::vector<T>& k, const std::vector<T>& v,
                       const std::vector<T>& d_out, AttentionGradients<T>& g) {
  const auto at = [](const std::vector<T>& values, int64_t i) {
    return values[static_cast<size_t>(i)];
  };
  const int64_t index = row.query * s.heads + row.head, query = index * s.head_dim;
  for (size_t j = 0; j < row.probability.size(); ++j) {
    const T p = row.probability[j];
    const int64_t key = row.key_element(s, j);
    const auto d_p = probability_gradient(s, d_out, query, v, key);
    const T d_score = p * (d_p.value - at(g.delta.value, index)) * row.slope[j] * s.scale;
    const double terms = row.sensitivity * std::abs(p) * s.scale *
                         (d_p.magnitude + g.delta.magnitude[static_cast<size_t>(index)]);
    for (int64_t c = 0; c < s.head_dim; ++c) {
      const T d_v = p * at(d_out, query + c);
      g.d_v.add(key + c, d_v, row.sensitivity * std::abs(d_v));
      g.d_q.add(query + c, d_score * at(k, key + c), terms * std::abs(at(k, key + c)));
      g.d_k.add(key + c, d_score * at(q, query + c), terms * std::abs(at(q, query + c)));
    }
  }
}

// `out` is the stored output of the forward pass.
template <typename T>
AttentionGradients<T> attention_backward(const AttentionSizes& s, const std::vector<T>& q,
                                         const std::vector<T>& k, const std::vector<T>& v,
                                         const std::vector<T>& out, const std::vector<T>& d_out) {
  AttentionGradients<T> g = no_attention_gradients<T>(s);
  for_each_attention_row<T>(s, q, k, [&](const AttentionRow<T>& row) {
    const int64_t index = row.query * s.heads + row.head;
    for (int64_t c = 0; c < s.head_dim; ++c) {
      const auto i = static_cast<size_t>(index * s.head_dim + c);
      const T term = out[i] * d_out[i];
      g.delta.add(index, term, std::abs(term));
    }
    add_row_gradients(s, row, q, k, v, d_out, g);
  });
  return g;
}

// `probabilities` [tokens, heads, longest] are the stored ones; delta is theirs.
template <typename T>
AttentionGradients<T> attention_materialised_backward(
    const AttentionSizes& s, int64_t longest, const std::vector<T>& q, const std::vector<T>& k,
    const std::vector<T>& v, const std::vector<T>& probabilities, const std::vector<T>& d_out) {
  AttentionGradients<T> g = no_attention_gradients<T>(s);
  for_each_attention_row<T>(s, q, k, [&](const AttentionRow<T>& computed) {
    AttentionRow<T> row = computed;
    const int64_t index = row.query * s.heads + row.head;
    for (size_t j = 0; j < row.probability.size(); ++j) {
      const int64_t column = row.first_column + static_cast<int64_t>(j);
      const T p = probabilities[static_cast<size_t>(index * longest + column)];
      row.probability[j] = p;
      const auto d_p = probability_gradient(s, d_out, index * s.head_dim, v, row.key_element(s, j));
      g.delta.add(index, p * d_p.value, std::abs(p) * d_p.magnitude);
    }
    add_row_gradients(s, row, q, k, v, d_out, g);
  });
  return g;
}

}  // namespace cairn::reference
