// Shape: up to four extents, row-major, the last one contiguous.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "base/error.h"

namespace cairn {

class Shape {
 public:
  static constexpr int kMaxRank = 4;

  Shape() = default;
  Shape(std::initializer_list<int64_t> extents) {
    CAIRN_CHECK(extents.size() <= kMaxRank, "[shape] wanted at most {} extents, got {}", kMaxRank,
                extents.size());
    for (int64_t extent : extents) {
      CAIRN_CHECK(extent >= 0, "[shape] wanted an extent of at least 0, got {}", extent);
      extents_[rank_++] = extent;
    }
  }

  int rank() const { return rank_; }
  int64_t operator[](int axis) const { return extents_[axis < 0 ? rank_ + axis : axis]; }
  int64_t elements() const {
    int64_t count = 1;
    for (int axis = 0; axis < rank_; ++axis) count *= extents_[axis];
    return count;
  }
  // Elements of one slice along the first axis.
  int64_t row_elements() const { return rank_ == 0 ? 1 : suffix(1); }
  // The same shape with another first extent.
  Shape with_rows(int64_t rows) const {
    Shape shape = *this;
    shape.extents_[0] = rows;
    return shape;
  }
  std::string to_string() const {
    std::string text = "[";
    for (int axis = 0; axis < rank_; ++axis)
      text += (axis ? ", " : "") + std::to_string(extents_[axis]);
    return text + "]";
  }
  bool operator==(const Shape&) const = default;

 private:
  int64_t suffix(int from) const {
    int64_t count = 1;
    for (int axis = from; axis < rank_; ++axis) count *= extents_[axis];
    return count;
  }

  std::array<int64_t, kMaxRank> extents_{};
  int rank_ = 0;
};

}  // namespace cairn
