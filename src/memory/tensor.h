// Tensor: a buffer with an element type and a shape. Move-only; ops receive views of it.
#pragma once

#include "memory/arena.h"
#include "memory/view.h"

namespace cairn {

class Tensor {
 public:
  Tensor() = default;
  Tensor(Arena& arena, Account account, std::string_view label, DType dtype, Shape shape)
      : buffer_(arena.allocate(account, label, bytes_of(dtype, shape.elements()))),
        dtype_(dtype),
        shape_(shape) {}

  View view() { return {buffer_.data(), dtype_, shape_}; }
  ConstView view() const { return {buffer_.data(), dtype_, shape_}; }
  // The first `rows` rows: tensors have capacity shapes, work has smaller ones.
  View view_rows(int64_t rows) { return view().view_rows(0, rows); }
  ConstView view_rows(int64_t rows) const { return view().view_rows(0, rows); }
  const Shape& shape() const { return shape_; }
  DType dtype() const { return dtype_; }
  int64_t bytes() const { return bytes_of(dtype_, shape_.elements()); }
  explicit operator bool() const { return buffer_.data() != nullptr; }
  // Gives the memory back before the scope ends.
  void reset() { *this = Tensor(); }

 private:
  Buffer buffer_;
  DType dtype_ = DType::f32;
  Shape shape_;
};

}  // namespace cairn
