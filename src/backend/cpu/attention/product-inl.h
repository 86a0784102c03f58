// Products of small matrices that lie in scratch: a register tile of rows x vectors, one chain of
// multiply-adds an element in the order of depth, so that an element's bits depend on nothing else
// in the matrix. Compiled once per instruction set.
#include <algorithm>

#include "hwy/highway.h"

#if defined(CAIRN_ATTENTION_PRODUCT_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CAIRN_ATTENTION_PRODUCT_INL_H
#undef CAIRN_ATTENTION_PRODUCT_INL_H
#else
#define CAIRN_ATTENTION_PRODUCT_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace cairn::cpu::HWY_NAMESPACE::attention {

namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using Vector = hn::Vec<Floats>;

inline constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(Floats()));
// 6 x 4 sums on 32 registers of 512 bits, 6 x 2 on 16 smaller ones.
inline constexpr int kTileVectors = kLanes == 16 ? 4 : 2;
inline constexpr int64_t kTileRows = 6;
// Columns of one register tile: the width of a packed panel.
inline constexpr int64_t kPanelWidth = kTileVectors * kLanes;

// a, whose element (row, k) is at a[row * stride + k], or a[k * stride + row] if `across`.
struct Left {
  const float* data;
  int64_t stride;
};

// b, whose element (k, column) is at data[k * stride + column].
struct Right {
  const float* data;
  int64_t stride;
};

// What becomes of the old c: forgotten, kept, or multiplied by a factor of its row.
enum class Old { none, keep, scale };

struct Target {
  float* data;
  int64_t stride;
  Old old = Old::none;
  const float* row_scale = nullptr;  // [rows], for Old::scale
};

template <int kRows, int kVectors, bool kAcross>
HWY_NOINLINE void multiply_tile(const float* HWY_RESTRICT a, int64_t a_stride,
                                const float* HWY_RESTRICT b, int64_t b_stride, int64_t depth,
                                float* HWY_RESTRICT c, int64_t c_stride, Old old,
                                const float* row_scale) {
  const Floats d;
  Vector sums[kRows][kVectors];
#pragma GCC unroll 8
  for (int row = 0; row < kRows; ++row)
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sums[row][v] = hn::Zero(d);
#pragma GCC unroll 2
  for (int64_t k = 0; k < depth; ++k) {
    Vector right[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) right[v] = hn::Load(d, b + v * kLanes);
#pragma GCC unroll 8
    for (int row = 0; row < kRows; ++row) {
      const Vector left = hn::Set(d, kAcross ? a[row] : a[row * a_stride]);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sums[row][v] = hn::MulAdd(left, right[v], sums[row][v]);
    }
    a += kAcross ? a_stride : 1;
    b += b_stride;
  }
#pragma GCC unroll 8
  for (int row = 0; row < kRows; ++row) {
    float* to = c + row * c_stride;
    if (old == Old::scale) {
      const Vector factor = hn::Set(d, row_scale[row]);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v)
        hn::Store(hn::MulAdd(hn::Load(d, to + v * kLanes), factor, sums[row][v]), d,
                  to + v * kLanes);
    } else if (old == Old::keep) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v)
        hn::Store(hn::Add(hn::Load(d, to + v * kLanes), sums[row][v]), d, to + v * kLanes);
    } else {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) hn::Store(sums[row][v], d, to + v * kLanes);
    }
  }
}

template <int kRows, bool kAcross, typename... Arguments>
HWY_INLINE void multiply_rows(int64_t vectors, Arguments... arguments) {
  if constexpr (kTileVectors == 4) {
    if (vectors == 4) return multiply_tile<kRows, 4, kAcross>(arguments...);
    if (vectors == 3) return multiply_tile<kRows, 3, kAcross>(arguments...);
  }
  if (vectors == 2) return multiply_tile<kRows, 2, kAcross>(arguments...);
  multiply_tile<kRows, 1, kAcross>(arguments...);
}

// The part of the depth that a strip of rows reads.
struct Depth {
  int64_t begin, end;
};

// One register tile: rows [row, row + count) of c, with count from for_each_strip, and the vectors
// [first, first + vectors) of its columns, at most kTileVectors.
template <bool kAcross>
HWY_INLINE void multiply_strip(Left a, Right b, Target c, int64_t row, int64_t count, int64_t first,
                               int64_t vectors, Depth depth) {
  const float* left =
      a.data + (kAcross ? depth.begin * a.stride + row : row * a.stride + depth.begin);
  const float* right = b.data + depth.begin * b.stride + first * kLanes;
  float* to = c.data + row * c.stride + first * kLanes;
  const float* row_scale = c.row_scale ? c.row_scale + row : nullptr;
  const int64_t length = depth.end - depth.begin;
  const auto run = [&]<int kRows>() HWY_ATTR {
    multiply_rows<kRows, kAcross>(vectors, left, a.stride, right, b.stride, length, to, c.stride,
                                  c.old, row_scale);
  };
  if (count == kTileRows)
    run.template operator()<kTileRows>();
  else if (count == 4)
    run.template operator()<4>();
  else if (count == 2)
    run.template operator()<2>();
  else
    run.template operator()<1>();
}

// body(row, count) for strips of rows that cover [begin, end): full ones, then 4, 2, 1.
template <typename Body>
HWY_INLINE void for_each_strip(int64_t begin, int64_t end, const Body& body) {
  for (int64_t row = begin; row < end;) {
    const int64_t left = end - row;
    const int64_t count = left >= kTileRows ? kTileRows : left >= 4 ? 4 : left >= 2 ? 2 : 1;
    body(row, count);
    row += count;
  }
}

// c[row][column] (+)= sum over k of a(row, k) * b(k, column), rows of [begin, end), columns of
// [0, vectors * kLanes). depth_of(row, count) says which k the strip of rows needs: a mask leaves
// the others 0. A strip that needs none keeps its c, or gets zeros.
template <bool kAcross, typename DepthOf>
HWY_INLINE void multiply(Left a, Right b, Target c, int64_t begin, int64_t end, int64_t vectors,
                         const DepthOf& depth_of) {
  const int64_t panels = (vectors + kTileVectors - 1) / kTileVectors;
  for (int64_t panel = 0; panel < panels; ++panel) {
    // Panels of equal width, or one vector less.
    const int64_t first = vectors * panel / panels;
    const int64_t width = vectors * (panel + 1) / panels - first;
    for_each_strip(begin, end, [&](int64_t row, int64_t count) HWY_ATTR {
      Depth depth = depth_of(row, count);
      depth.end = std::max(depth.begin, depth.end);
      if (depth.end > depth.begin || c.old == Old::none)
        multiply_strip<kAcross>(a, b, c, row, count, first, width, depth);
    });
  }
}

}  // namespace cairn::cpu::HWY_NAMESPACE::attention
HWY_AFTER_NAMESPACE();

#endif  // CAIRN_ATTENTION_PRODUCT_INL_H
