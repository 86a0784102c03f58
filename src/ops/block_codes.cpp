#include "ops/block_codes.h"

#include "base/bytes.h"
#include "ops/check.h"

namespace cairn::ops {

void check_block_codes(std::string_view op, std::string_view name, const BlockCodes& codes,
                       int64_t elements) {
  check_dtype(op, name, codes.codes, DType::u8);
  check_elements(op, name, codes.codes, elements);
  check_dtype(op, name, codes.scales, DType::f32);
  check_elements(op, name, codes.scales, ceil_div(elements, kCodedBlock));
}

void encode_blocks(const Exec& exec, bool is_signed, ConstView in, const BlockCodes& out) {
  check_dtype("encode blocks", "in", in, DType::f32);
  check_block_codes("encode blocks", "out", out, in.elements());
  exec.kernels().encode_blocks(exec.stream, is_signed, in, out);
}

void decode_blocks(const Exec& exec, bool is_signed, const BlockCodes& in, View out) {
  check_dtype("decode blocks", "out", out, DType::f32);
  check_block_codes("decode blocks", "in", in, out.elements());
  exec.kernels().decode_blocks(exec.stream, is_signed, in, out);
}

}  // namespace cairn::ops
