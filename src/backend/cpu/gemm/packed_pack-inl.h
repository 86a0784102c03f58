// Packing: stored f32, bf16 or 4-bit codes become f32 panels [depth][width], transposed where
// storage runs along the depth; what sticks out of a matrix is zero. Compiled once per instruction
// set.
#if defined(CAIRN_GEMM_PACK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CAIRN_GEMM_PACK_INL_H_
#undef CAIRN_GEMM_PACK_INL_H_
#else
#define CAIRN_GEMM_PACK_INL_H_
#endif

#include "backend/cpu/gemm/packed_decode-inl.h"
#include "backend/cpu/gemm/packed_job.h"
#include "hwy/cache_control.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace cairn::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

HWY_INLINE float widen(float value) { return value; }
HWY_INLINE float widen(uint16_t value) {
  const uint32_t bits = uint32_t{value} << 16;
  float result;
  hwy::CopySameSize(&bits, &result);
  return result;
}

template <class D>
HWY_INLINE hn::Vec<D> load_wide(D d, const float* from) {
  return hn::LoadU(d, from);
}
template <class D>
HWY_INLINE hn::Vec<D> load_wide(D d, const uint16_t* from) {
  const hn::RebindToUnsigned<D> bits;
  const hn::Rebind<uint16_t, D> narrow;
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(bits, hn::LoadU(narrow, from))));
}

#if HWY_TARGET != HWY_SCALAR
// Four consecutive words of rows 0, 4, 8, ... in the blocks of one vector of kLanes words. A word
// is one f32 or two bf16.
template <size_t kLanes, typename T>
HWY_INLINE hn::Vec<hn::CappedTag<float, kLanes>> load_quads(const T* from, int64_t stride) {
  const hn::CappedTag<float, kLanes> d;
  if constexpr (kLanes == 4) {
    return hn::BitCast(d, hn::LoadU(hn::Repartition<T, decltype(d)>(), from));
  } else {
    return hn::Combine(d, load_quads<kLanes / 2>(from + stride * int64_t{kLanes / 2}, stride),
                       load_quads<kLanes / 2>(from, stride));
  }
}

// Stores one column of words of kLanes rows: one row of the panel if they are f32, two if bf16.
template <class D>
HWY_INLINE void store_words(D d, hn::Vec<D> words, float* to, int64_t, float) {
  hn::StoreU(words, d, to);
}
template <class D>
HWY_INLINE void store_words(D d, hn::Vec<D> words, float* to, int64_t width, uint16_t) {
  const hn::RebindToUnsigned<D> bits;
  const auto pairs = hn::BitCast(bits, words);
  hn::StoreU(hn::BitCast(d, hn::ShiftLeft<16>(pairs)), d, to);
  hn::StoreU(hn::BitCast(d, hn::And(pairs, hn::Set(bits, 0xffff0000u))), d, to + width);
}
#endif

// kLanes full rows of `from`, `depth` elements each, become columns of the panel `to`.
template <size_t kLanes, typename T>
HWY_INLINE void transpose_rows(const T* from, int64_t stride, int64_t depth, float* to,
                               int64_t width) {
  int64_t k = 0;
#if HWY_TARGET != HWY_SCALAR
  constexpr auto kLineElements = static_cast<int64_t>(64 / sizeof(T));
  constexpr auto kPerWord = static_cast<int64_t>(4 / sizeof(T));
  const hn::CappedTag<float, kLanes> d;
  for (; k + 4 * kPerWord <= depth; k += 4 * kPerWord) {
    // So many short rows are beyond what the machine foresees: ask for the rows after these.
    if (k % kLineElements == 0)
      for (int64_t x = 0; x < int64_t{kLanes}; ++x)
        hwy::Prefetch(from + (int64_t{kLanes} + x) * stride + k);
    const auto r0 = load_quads<kLanes>(from + k, stride);
    const auto r1 = load_quads<kLanes>(from + k + stride, stride);
    const auto r2 = load_quads<kLanes>(from + k + 2 * stride, stride);
    const auto r3 = load_quads<kLanes>(from + k + 3 * stride, stride);
    const auto even_low = hn::InterleaveLower(d, r0, r2), odd_low = hn::InterleaveLower(d, r1, r3);
    const auto even_high = hn::InterleaveUpper(d, r0, r2),
               odd_high = hn::InterleaveUpper(d, r1, r3);
    float* out = to + k * width;
    const int64_t step = kPerWord * width;
    store_words(d, hn::InterleaveLower(d, even_low, odd_low), out, width, T{});
    store_words(d, hn::InterleaveUpper(d, even_low, odd_low), out + step, width, T{});
    store_words(d, hn::InterleaveLower(d, even_high, odd_high), out + 2 * step, width, T{});
    store_words(d, hn::InterleaveUpper(d, even_high, odd_high), out + 3 * step, width, T{});
  }
#endif
  for (; k < depth; ++k)
    for (int64_t x = 0; x < int64_t{kLanes}; ++x) to[k * width + x] = widen(from[x * stride + k]);
}

// The same for the last `count` < lanes rows.
template <typename T>
void transpose_edge(const T* from, int64_t stride, int64_t count, int64_t lanes, int64_t depth,
                    float* to, int64_t width) {
  for (int64_t k = 0; k < depth; ++k)
    for (int64_t x = 0; x < lanes; ++x)
      to[k * width + x] = x < count ? widen(from[x * stride + k]) : 0.0f;
}

// `count` items from x on, `depth` deep from k on, into panels of kWidth, `panel_stride` floats
// apart.
template <size_t kLanes, int64_t kWidth, typename T>
void pack_typed(const Operand& source, int64_t x, int64_t count, int64_t k, int64_t depth,
                float* to, int64_t panel_stride) {
  constexpr auto kStep = static_cast<int64_t>(kLanes);
  constexpr auto kLineElements = static_cast<int64_t>(64 / sizeof(T));
  constexpr int64_t kRowsAhead = 8;
  const T* from = reinterpret_cast<const T*>(source.data);
  if (source.depth_major) {
    const hn::CappedTag<float, kLanes> d;
    for (int64_t depth_index = 0; depth_index < depth; ++depth_index) {
      const T* row = from + (k + depth_index) * source.stride + x;
      const T* later = row + kRowsAhead * source.stride;
      for (int64_t line = 0; line < count; line += kLineElements) hwy::Prefetch(later + line);
      for (int64_t begin = 0; begin < count; begin += kWidth) {
        float* out = to + begin / kWidth * panel_stride + depth_index * kWidth;
        for (int64_t offset = 0; offset < kWidth; offset += kStep) {
          const int64_t left = count - begin - offset;
          if (left >= kStep) {
            hn::StoreU(load_wide(d, row + begin + offset), d, out + offset);
          } else {
            for (int64_t lane = 0; lane < kStep; ++lane)
              out[offset + lane] = lane < left ? widen(row[begin + offset + lane]) : 0.0f;
          }
        }
      }
    }
    return;
  }
  for (int64_t begin = 0; begin < count; begin += kWidth) {
    float* out = to + begin / kWidth * panel_stride;
    for (int64_t offset = 0; offset < kWidth; offset += kStep) {
      const int64_t left = count - begin - offset;
      const T* rows = from + (x + begin + offset) * source.stride + k;
      if (left >= kStep)
        transpose_rows<kLanes>(rows, source.stride, depth, out + offset, kWidth);
      else
        transpose_edge(rows, source.stride, left, kStep, depth, out + offset, kWidth);
    }
  }
}

// The same for codes: what lies end to end is decoded first, then packed as f32.
template <size_t kLanes, int64_t kWidth>
void pack_codes(const Operand& source, int64_t x, int64_t count, int64_t k, int64_t depth,
                float* to, int64_t panel_stride) {
  constexpr auto kStep = static_cast<int64_t>(kLanes);
  if (source.depth_major) {
    HWY_ALIGN float row[kColumnBlock];
    for (int64_t i = 0; i < depth; ++i)
      for (int64_t begin = 0; begin < count; begin += kColumnBlock) {
        const int64_t columns = HWY_MIN(kColumnBlock, count - begin);
        decode_codes(source, (k + i) * source.stride + x + begin, columns, row);
        const Operand decoded{reinterpret_cast<const std::byte*>(row), DType::f32, true, 0};
        pack_typed<kLanes, kWidth, float>(decoded, 0, columns, 0, 1,
                                          to + begin / kWidth * panel_stride + i * kWidth,
                                          panel_stride);
      }
    return;
  }
  HWY_ALIGN float rows[kStep * kDepthBlock];
  for (int64_t begin = 0; begin < count; begin += kWidth)
    for (int64_t offset = 0; offset < kWidth; offset += kStep) {
      const int64_t left = HWY_MIN(kStep, count - begin - offset);
      for (int64_t row = 0; row < left; ++row)
        decode_codes(source, (x + begin + offset + row) * source.stride + k, depth,
                     rows + row * kDepthBlock);
      float* out = to + begin / kWidth * panel_stride + offset;
      if (left == kStep)
        transpose_rows<kLanes>(rows, kDepthBlock, depth, out, kWidth);
      else
        transpose_edge(rows, kDepthBlock, left, kStep, depth, out, kWidth);
    }
}

template <size_t kLanes, int64_t kWidth>
void pack(const Operand& source, int64_t x, int64_t count, int64_t k, int64_t depth, float* to,
          int64_t panel_stride) {
  if (source.dtype == DType::u4)
    pack_codes<kLanes, kWidth>(source, x, count, k, depth, to, panel_stride);
  else if (source.dtype == DType::bf16)
    pack_typed<kLanes, kWidth, uint16_t>(source, x, count, k, depth, to, panel_stride);
  else
    pack_typed<kLanes, kWidth, float>(source, x, count, k, depth, to, panel_stride);
}

}  // namespace cairn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
