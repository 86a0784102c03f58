#include "train/optimizers/state_shape.h"

namespace cairn {
namespace {

// Hands out views of a run of bytes from its begin.
class Cutter {
 public:
  explicit Cutter(std::byte* memory) : at_(memory) {}
  View cut(DType dtype, int64_t elements) {
    const View view(at_, dtype, {elements});
    at_ += view.bytes();
    return view;
  }

 private:
  std::byte* at_;
};

}  // namespace

int64_t StateShape::master_bytes() const { return master ? elements * size_of(DType::f32) : 0; }

int64_t StateShape::moment_bytes() const {
  if (!moments) return 0;
  if (coding == StateCoding::blocks_8bit)
    return 2 * (elements + ceil_div(elements, kCodedBlock) * size_of(DType::f32));
  return 2 * elements * size_of(coding == StateCoding::bf16 ? DType::bf16 : DType::f32);
}

StateViews StateShape::view(std::byte* memory) const {
  Cutter cutter(memory);
  StateViews views;
  if (master) views.master = cutter.cut(DType::f32, elements);
  if (!moments) return views;
  if (coding == StateCoding::blocks_8bit) {
    views.m_8bit.scales = cutter.cut(DType::f32, ceil_div(elements, kCodedBlock));
    views.v_8bit.scales = cutter.cut(DType::f32, ceil_div(elements, kCodedBlock));
    views.m_8bit.codes = cutter.cut(DType::u8, elements);
    views.v_8bit.codes = cutter.cut(DType::u8, elements);
  } else {
    const DType dtype = coding == StateCoding::bf16 ? DType::bf16 : DType::f32;
    views.m = cutter.cut(dtype, elements);
    views.v = cutter.cut(dtype, elements);
  }
  return views;
}

}  // namespace cairn
