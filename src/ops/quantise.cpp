#include "ops/quantise.h"

#include "base/bytes.h"
#include "numeric/nf4.h"
#include "ops/check.h"

namespace cairn::ops {
namespace {

void check_part(std::string_view op, std::string_view name, ConstView view, DType dtype,
                int64_t elements) {
  check_dtype(op, name, view, dtype);
  check_elements(op, name, view, elements);
}

}  // namespace

void quantise_nf4(const Exec& exec, ConstView in, int64_t block, View codes, View absmax) {
  check_dtype("quantise_nf4", "in", in, DType::f32);
  check_part("quantise_nf4", "codes", codes, DType::u4, in.elements());
  check_part("quantise_nf4", "absmax", absmax, DType::f32, ceil_div(in.elements(), block));
  exec.kernels().quantise_nf4(exec.stream, in, block, codes, absmax);
}

void nest_absmax(const Exec& exec, ConstView absmax, ConstView table, View codes,
                 View nested_absmax, View offset) {
  const int64_t count = absmax.elements();
  check_dtype("nest_absmax", "absmax", absmax, DType::f32);
  check_part("nest_absmax", "table", table, DType::f32, 256);
  check_part("nest_absmax", "codes", codes, DType::u8, count);
  check_part("nest_absmax", "nested_absmax", nested_absmax, DType::f32,
             ceil_div(count, kNestedBlock));
  check_part("nest_absmax", "offset", offset, DType::f32, 1);
  exec.kernels().nest_absmax(exec.stream, absmax, table, codes, nested_absmax, offset);
}

void check_quant_state(std::string_view op, const QuantState& quant, int64_t elements) {
  const int64_t block = quant.block;
  CAIRN_CHECK(block >= 32 && block <= 4096 && (block & (block - 1)) == 0,
              "[{}] wanted blocks of a power of two, 32 to 4096, got {}", op, block);
  const int64_t blocks = quant.absmax.elements();
  CAIRN_CHECK(quant.first >= 0 && blocks >= ceil_div(quant.first + elements, block),
              "[{}] wanted absmax of {} elements from {}, got {} of blocks of {}", op, elements,
              quant.first, blocks, block);
  check_part(op, "quant.table", quant.table, DType::f32, 16);
  check_part(op, "quant.absmax", quant.absmax, quant.nested() ? DType::u8 : DType::f32, blocks);
  if (!quant.nested()) return;
  check_part(op, "quant.nested_absmax", quant.nested_absmax, DType::f32,
             ceil_div(blocks, kNestedBlock));
  check_part(op, "quant.nested_table", quant.nested_table, DType::f32, 256);
  check_part(op, "quant.nested_offset", quant.nested_offset, DType::f32, 1);
}

}  // namespace cairn::ops
