#include "ops/moving.h"

#include "ops/check.h"

namespace cairn::ops {
namespace {

void check_same_rows(std::string_view op, ConstView in, ConstView rows, ConstView out,
                     int64_t count) {
  check_dtype(op, "rows", rows, DType::i32);
  check_elements(op, "rows", rows, count);
  CAIRN_CHECK(in.dtype() == out.dtype() && in.columns() == out.columns(),
              "[{}] wanted rows of one kind, got {} of {} and {} of {}", op, in.columns(),
              name_of(in.dtype()), out.columns(), name_of(out.dtype()));
}

}  // namespace

void fill_zero(const Exec& exec, View out) { exec.kernels().fill_zero(exec.stream, out); }

void fill_random(const Exec& exec, const RandomFill& fill, View out) {
  check_float("fill_random", "out", out);
  CAIRN_CHECK(fill.first % kCodedBlock == 0,
              "[fill_random] wanted a first element at a multiple of {}, got {}", kCodedBlock,
              fill.first);
  exec.kernels().fill_random(exec.stream, fill, out);
}

void convert(const Exec& exec, ConstView in, View out) {
  check_elements("convert", "out", out, in.elements());
  check_float("convert", "out", out);
  if (in.dtype() != DType::f16) check_float("convert", "in", in);
  exec.kernels().convert(exec.stream, in, out);
}

void add(const Exec& exec, ConstView in, View inout) {
  check_elements("add", "inout", inout, in.elements());
  check_float("add", "in", in);
  check_float("add", "inout", inout);
  exec.kernels().add(exec.stream, in, inout);
}

void gather_rows(const Exec& exec, ConstView in, ConstView rows, View out) {
  check_same_rows("gather_rows", in, rows, out, out.rows());
  exec.kernels().gather_rows(exec.stream, in, rows, out);
}

void scatter_rows(const Exec& exec, ConstView in, ConstView rows, View out) {
  check_same_rows("scatter_rows", in, rows, out, in.rows());
  exec.kernels().scatter_rows(exec.stream, in, rows, out);
}

}  // namespace cairn::ops
