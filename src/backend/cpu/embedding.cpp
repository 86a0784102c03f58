// The embedding table. Its gradient is added in the order of tokens by the thread that owns the
// columns, so that repeated tokens sum the same way whatever the thread count. Sums are f32: a
// table in bf16 takes its tokens id by id, and rounds once an id.
#include <algorithm>
#include <numeric>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/embedding.cpp"
#include "backend/cpu/simd_targets.h"
// The targets come first.
#include "hwy/foreach_target.h"
// Then what is compiled for each of them.
#include "backend/cpu/cpu_kernels.h"
#include "backend/cpu/floats-inl.h"
#include "backend/cpu/parallel.h"

HWY_BEFORE_NAMESPACE();
namespace cairn::cpu::HWY_NAMESPACE {

void look_up_tokens(const int32_t* ids, FloatsIn table, float scale, FloatsOut out, int64_t hidden,
                    int64_t begin, int64_t end) {
  const V32 factor = hn::Set(F32(), scale);
  for (int64_t token = begin; token < end; ++token) {
    const int64_t from = ids[token] * hidden, to = token * hidden;
    for_each_vector(0, hidden, [&](int64_t i, auto extent) HWY_ATTR {
      store(hn::Mul(load(table, from + i, extent), factor), out, to + i, extent);
    });
  }
}

// Columns [begin, end) of all tokens, id by id: `order` lists them so. Each row is rounded once.
void add_by_id(const int32_t* ids, const int32_t* order, FloatsIn d_out, float scale,
               FloatsOut d_table, int64_t tokens, int64_t hidden, int64_t begin, int64_t end) {
  float sums[kColumnsPerChunk];
  const FloatsIn before(sums);
  const FloatsOut after(sums);
  const V32 factor = hn::Set(F32(), scale);
  const int64_t columns = end - begin;
  for (int64_t next = 0; next < tokens;) {
    const int32_t id = ids[order[next]];
    const int64_t to = id * hidden + begin;
    for_each_vector(0, columns, [&](int64_t i, auto extent) HWY_ATTR {
      store(load(FloatsIn(d_table), to + i, extent), after, i, extent);
    });
    for (; next < tokens && ids[order[next]] == id; ++next) {
      const int64_t from = order[next] * hidden + begin;
      for_each_vector(0, columns, [&](int64_t i, auto extent) HWY_ATTR {
        const V32 sum = hn::MulAdd(load(d_out, from + i, extent), factor, load(before, i, extent));
        store(sum, after, i, extent);
      });
    }
    for_each_vector(0, columns, [&](int64_t i, auto extent) HWY_ATTR {
      store(load(before, i, extent), d_table, to + i, extent);
    });
  }
}

// Columns [begin, end) of all tokens, of a table in f32.
void add_to_table(const int32_t* ids, FloatsIn d_out, float scale, FloatsOut d_table,
                  int64_t tokens, int64_t hidden, int64_t begin, int64_t end) {
  const V32 factor = hn::Set(F32(), scale);
  const FloatsIn before(d_table);
  for (int64_t token = 0; token < tokens; ++token) {
    const int64_t to = ids[token] * hidden, from = token * hidden;
    for_each_vector(begin, end, [&](int64_t i, auto extent) HWY_ATTR {
      const V32 sum =
          hn::MulAdd(load(d_out, from + i, extent), factor, load(before, to + i, extent));
      store(sum, d_table, to + i, extent);
    });
  }
}

}  // namespace cairn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cairn::cpu {
HWY_EXPORT(look_up_tokens);
HWY_EXPORT(add_to_table);
HWY_EXPORT(add_by_id);
}  // namespace cairn::cpu

namespace cairn {

using namespace cpu;

void CpuKernels::embedding_forward(Stream, ConstView ids, ConstView table, float scale, View out) {
  const int64_t hidden = out.columns();
  for_each_chunk(threads_, out.rows(), rows_per_chunk(hidden), [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(look_up_tokens)(ids.as<int32_t>(), table, scale, out, hidden, begin, end);
  });
}

void CpuKernels::embedding_backward(Stream, ConstView ids, ConstView d_out, float scale,
                                    View d_table, View order) {
  const int64_t tokens = d_out.rows(), hidden = d_out.columns();
  const int32_t* const id = ids.as<int32_t>();
  if (d_table.dtype() == DType::f32)
    return for_each_chunk(threads_, hidden, kColumnsPerChunk, [&](int64_t begin, int64_t end) {
      HWY_DYNAMIC_DISPATCH(add_to_table)
      (id, d_out, scale, d_table, tokens, hidden, begin, end);
    });
  int32_t* const by_id = order.as<int32_t>();
  std::iota(by_id, by_id + tokens, 0);
  std::sort(by_id, by_id + tokens,
            [&](int32_t a, int32_t b) { return std::pair(id[a], a) < std::pair(id[b], b); });
  for_each_chunk(threads_, hidden, kColumnsPerChunk, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(add_by_id)
    (id, by_id, d_out, scale, d_table, tokens, hidden, begin, end);
  });
}

}  // namespace cairn
#endif  // HWY_ONCE
