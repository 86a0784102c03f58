#include "train/optimizers/piece_states.h"

#include "ops/block_codes.h"
#include "ops/moving.h"

namespace cairn {

BlockCodes stretch_of(const BlockCodes& all, int64_t first, int64_t count) {
  return {all.codes.view_rows(first, count),
          all.scales.view_rows(first / kCodedBlock, ceil_div(count, kCodedBlock))};
}

void PieceState::decode(const Exec& exec, int64_t first, View values) const {
  if (floats)
    ops::convert(exec, floats.view_rows(first, values.rows()), values);
  else
    ops::decode_blocks(exec, is_signed, stretch_of(codes, first, values.rows()), values);
}

void PieceState::encode(const Exec& exec, int64_t first, ConstView values) const {
  if (floats)
    ops::convert(exec, values, floats.view_rows(first, values.rows()));
  else
    ops::encode_blocks(exec, is_signed, values, stretch_of(codes, first, values.rows()));
}

std::array<PieceState, 3> states_of(const StateViews& views) {
  return {PieceState{"master", views.master, {}}, PieceState{"m", views.m, views.m_8bit, true},
          PieceState{"v", views.v, views.v_8bit, false}};
}

}  // namespace cairn
