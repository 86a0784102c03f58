// The checks that ops make of their arguments. They run in rehearsal too, so a wrong shape is found
// before anything is loaded.
#pragma once

#include <string_view>

#include "backend/kernels.h"
#include "base/error.h"
#include "memory/view.h"

namespace cairn::ops {

// Rows and columns count; how many axes the columns are split into does not.
inline void check_matrix(std::string_view op, std::string_view name, ConstView view, int64_t rows,
                         int64_t columns) {
  CAIRN_CHECK(view.rows() == rows && view.columns() == columns,
              "[{}] wanted {} of {} rows and {} columns, got {}", op, name, rows, columns,
              view.shape().to_string());
}

inline void check_shape(std::string_view op, std::string_view name, ConstView view,
                        const Shape& shape) {
  CAIRN_CHECK(view.shape() == shape, "[{}] wanted {} of shape {}, got {}", op, name,
              shape.to_string(), view.shape().to_string());
}

inline void check_elements(std::string_view op, std::string_view name, ConstView view,
                           int64_t elements) {
  CAIRN_CHECK(view.elements() == elements, "[{}] wanted {} of {} elements, got {}", op, name,
              elements, view.shape().to_string());
}

inline void check_dtype(std::string_view op, std::string_view name, ConstView view, DType dtype) {
  CAIRN_CHECK(view.dtype() == dtype, "[{}] wanted {} in {}, got {}", op, name, name_of(dtype),
              name_of(view.dtype()));
}

inline void check_float(std::string_view op, std::string_view name, ConstView view) {
  CAIRN_CHECK(view.dtype() == DType::f32 || view.dtype() == DType::bf16,
              "[{}] wanted {} in f32 or bf16, got {}", op, name, name_of(view.dtype()));
}

// What every update of a parameter works on: gradient and weight f32 or bf16, master f32 or empty,
// all of one size. `first` keys the rounding, which comes in groups.
inline void check_trained(std::string_view op, ConstView gradient, ConstView weight,
                          ConstView master, int64_t first) {
  check_float(op, "gradient", gradient);
  check_float(op, "weight", weight);
  check_elements(op, "gradient", gradient, weight.elements());
  if (master) {
    check_dtype(op, "master", master, DType::f32);
    check_elements(op, "master", master, weight.elements());
  }
  CAIRN_CHECK(first % kCodedBlock == 0, "[{}] wanted a first element at a multiple of {}, got {}",
              op, kCodedBlock, first);
}

}  // namespace cairn::ops
