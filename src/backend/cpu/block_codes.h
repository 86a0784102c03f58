// 8-bit codes as SIMD kernels receive them, and the tables that they look up.
#pragma once

#include "backend/kernels.h"
#include "numeric/dynamic_map.h"

namespace cairn::cpu {

// How the values of one state are coded.
struct CodeTables {
  explicit CodeTables(bool is_signed_map)
      : map((is_signed_map ? signed_dynamic_map() : unsigned_dynamic_map()).data()),
        ranks(reinterpret_cast<const int32_t*>(
            (is_signed_map ? signed_dynamic_ranks() : unsigned_dynamic_ranks()).cells())),
        is_signed(is_signed_map) {}
  uint8_t zero() const { return is_signed ? kSignedZero : 0; }

  const float* map;
  const int32_t* ranks;
  bool is_signed;
};

struct CodedFloats {
  explicit CodedFloats(const BlockCodes& from)
      : codes(from.codes.as<uint8_t>()), scales(from.scales.as<float>()) {}
  uint8_t* codes;
  float* scales;
};

}  // namespace cairn::cpu
