// 8-bit block codes by a plain scan over the whole map, which has no table and no search to be
// wrong.
#pragma once

#include <algorithm>
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

struct CodedState {
  std::vector<uint8_t> codes;
  std::vector<float> scales;
  bool is_signed;

  float value(size_t i) const {
    const DynamicMap& map = is_signed ? signed_dynamic_map() : unsigned_dynamic_map();
    return map[codes[i]] * scales[i / 256];
  }
  // Codes values[begin ..] of one block.
  void encode_block(const std::vector<float>& values, size_t begin) {
    const size_t end = std::min(values.size(), begin + 256);
    float scale = 0;
    for (size_t i = begin; i < end; ++i) scale = std::max(scale, std::abs(values[i]));
    scales[begin / 256] = scale;
    for (size_t i = begin; i < end; ++i) {
      const float share = scale > 0 ? values[i] / scale : 0;
      codes[i] = static_cast<uint8_t>(is_signed ? nearest_signed_code(share)
                                                : nearest_code(unsigned_dynamic_map(), share));
    }
  }
};

inline CodedState encode(const std::vector<float>& values, bool is_signed) {
  CodedState state{std::vector<uint8_t>(values.size()),
                   std::vector<float>((values.size() + 255) / 256), is_signed};
  for (size_t begin = 0; begin < values.size(); begin += 256) state.encode_block(values, begin);
  return state;
}

}  // namespace cairn::reference
