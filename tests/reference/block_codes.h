// 8-bit block codes by a plain scan over the whole map, and one update of 8-bit AdamW as the CUDA
// kernels of bitsandbytes order it. The scan has no table and no search to be wrong.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "numeric/dynamic_map.h"

namespace cairn::reference {

// How many borders lie below: a border is the middle of two neighbours, in f32, and belongs to the
// one with the even code.
inline int nearest_code(const DynamicMap& map, float value) {
  int code = 0;
  for (int i = 0; i + 1 < 256; ++i) {
    const float middle = (map[static_cast<size_t>(i)] + map[static_cast<size_t>(i) + 1]) * 0.5f;
    if (value > middle || (value == middle && (i + 1) % 2 == 0)) code = i + 1;
  }
  return code;
}

// The same with the sign kept: a negative value that would become 0 takes the code below.
inline int nearest_signed_code(float value) {
  const DynamicMap& map = signed_dynamic_map();
  const int code = nearest_code(map, value);
  return value < 0 && !std::signbit(map[static_cast<size_t>(code)]) ? code - 1 : code;
}

}  // namespace cairn::reference
