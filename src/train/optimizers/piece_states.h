// The states of one piece, in whichever coding each is: to and from f32, stretch by stretch.
#pragma once

#include <array>
#include <string_view>

#include "ops/exec.h"
#include "train/optimizers/state_shape.h"

namespace cairn {

// Elements that are f32 at a time; a multiple of the block of 8-bit codes.
inline constexpr int64_t kStateStretch = int64_t{1} << 18;

// `count` elements of codes, from a multiple of their block on.
BlockCodes stretch_of(const BlockCodes& all, int64_t first, int64_t count);

struct PieceState {
  std::string_view name;  // "master", "m" or "v"
  View floats;            // [n] f32 or bf16, or
  BlockCodes codes;       // of n elements, by the signed map, if
  bool is_signed = false;

  bool exists() const { return floats || codes.codes; }
  int64_t elements() const { return floats ? floats.elements() : codes.codes.elements(); }
  // `values` [n] f32, from element `first` of the piece on.
  void decode(const Exec& exec, int64_t first, View values) const;
  void encode(const Exec& exec, int64_t first, ConstView values) const;
};

// Those of them that do not exist are empty.
std::array<PieceState, 3> states_of(const StateViews& views);

}  // namespace cairn
