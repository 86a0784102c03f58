// Random fills. Element i is a pure function of (seed, stream, i), the one that base/random.h
// defines.
#include "backend/cpu/cpu_kernels.h"
#include "backend/cpu/parallel.h"
#include "base/random.h"
#include "numeric/bfloat16.h"

namespace cairn {

using namespace cpu;

void CpuKernels::fill_random(Stream, const RandomFill& fill, View out) {
  const Random random(fill.seed, fill.stream);
  for_each_chunk(threads_, out.elements(), kElementsPerChunk, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto index = static_cast<uint64_t>(i);
      const float unit = fill.normal ? random.normal(index) : 2 * random.uniform(index) - 1;
      const float value = fill.scale * unit;
      if (out.dtype() == DType::bf16)
        out.as<bf16>()[i] = to_bf16(value);
      else
        out.as<float>()[i] = value;
    }
  });
}

}  // namespace cairn
