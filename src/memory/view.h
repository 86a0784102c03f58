// View and ConstView: what ops and kernels receive. They point at row-major storage and own
// nothing.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/dtype.h"
#include "base/error.h"
#include "base/shape.h"

namespace cairn {

template <typename Byte>
class BasicView {
 public:
  BasicView() = default;
  BasicView(Byte* data, DType dtype, Shape shape) : data_(data), dtype_(dtype), shape_(shape) {}
  // A mutable view serves wherever a constant one is wanted.
  operator BasicView<const std::byte>() const { return {data_, dtype_, shape_}; }

  Byte* data() const { return data_; }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  int64_t elements() const { return shape_.elements(); }
  int64_t bytes() const { return bytes_of(dtype_, elements()); }
  int64_t rows() const { return shape_[0]; }
  int64_t columns() const { return shape_.row_elements(); }
  explicit operator bool() const { return data_ != nullptr; }

  // Slices [begin, begin + count) along the first axis.
  BasicView view_rows(int64_t begin, int64_t count) const {
    CAIRN_CHECK(begin >= 0 && count >= 0 && begin + count <= shape_[0],
                "[view_rows] wanted rows within {}, got {} from {}", shape_[0], count, begin);
    CAIRN_CHECK(dtype_ != DType::u4 || begin * columns() % 2 == 0,
                "[view_rows] wanted codes from a whole byte on, got element {}", begin * columns());
    return {data_ + bytes_of(dtype_, begin * columns()), dtype_, shape_.with_rows(count)};
  }
  // The same elements under another shape.
  BasicView view_as(Shape shape) const {
    CAIRN_CHECK(shape.elements() == elements(), "[view_as] wanted {} elements, got {}", elements(),
                shape.to_string());
    return {data_, dtype_, shape};
  }
  // Typed access, for backends.
  template <typename T>
  auto* as() const {
    if constexpr (std::is_const_v<Byte>)
      return reinterpret_cast<const T*>(data_);
    else
      return reinterpret_cast<T*>(data_);
  }

 private:
  Byte* data_ = nullptr;
  DType dtype_ = DType::f32;
  Shape shape_;
};

using View = BasicView<std::byte>;
using ConstView = BasicView<const std::byte>;

}  // namespace cairn
