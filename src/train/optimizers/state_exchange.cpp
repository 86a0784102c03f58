#include "train/optimizers/state_exchange.h"

#include <fmt/format.h>

#include <algorithm>

#include "ops/block_codes.h"
#include "ops/moving.h"

namespace cairn {
namespace {

// Elements that are f32 at a time; a multiple of the block of 8-bit codes.
constexpr int64_t kExchanged = int64_t{1} << 18;

BlockCodes stretch_of(const BlockCodes& all, int64_t first, int64_t count) {
  return {all.codes.view_rows(first, count),
          all.scales.view_rows(first / kCodedBlock, ceil_div(count, kCodedBlock))};
}

// One state of a piece, in whichever coding.
struct PieceState {
  std::string_view name;
  View floats;       // or
  BlockCodes codes;  // by the signed map, if
  bool is_signed = false;

  bool exists() const { return floats || codes.codes; }
  void decode(const Exec& exec, int64_t first, View values) const {
    if (floats)
      ops::convert(exec, floats.view_rows(first, values.rows()), values);
    else
      ops::decode_blocks(exec, is_signed, stretch_of(codes, first, values.rows()), values);
  }
  void encode(const Exec& exec, int64_t first, ConstView values) const {
    if (floats)
      ops::convert(exec, values, floats.view_rows(first, values.rows()));
    else
      ops::encode_blocks(exec, is_signed, values, stretch_of(codes, first, values.rows()));
  }
};

// Calls body(stretch, state, first of the piece, f32 scratch) for all states of all pieces.
template <typename Body>
void for_each_stretch(const Exec& exec, Optimizer& optimizer, bool writes, const Body& body) {
  Tensor scratch = exec.make(Account::workspace, "states in f32", DType::f32, {kExchanged});
  optimizer.visit(exec, writes, [&](const Optimizer::Piece& piece, const StateViews& views) {
    for (const PieceState& state :
         {PieceState{"master", views.master, {}}, PieceState{"m", views.m, views.m_8bit, true},
          PieceState{"v", views.v, views.v_8bit, false}}) {
      if (!state.exists()) continue;
      for (int64_t at = 0; at < piece.shape.elements; at += kExchanged) {
        const int64_t count = std::min(kExchanged, piece.shape.elements - at);
        body(StateStretch{*piece.parameter, state.name, piece.first + at}, state, at,
             scratch.view_rows(count));
      }
    }
  });
}

}  // namespace

void export_states(const Exec& exec, Optimizer& optimizer, const StateSink& sink) {
  for_each_stretch(
      exec, optimizer, false,
      [&](const StateStretch& stretch, const PieceState& state, int64_t at, View values) {
        state.decode(exec, at, values);
        exec.backend.device().wait(exec.stream);
        sink(stretch, values);
      });
}

std::string import_states(const Exec& exec, Optimizer& optimizer, const StateSource& source,
                          int64_t updates, StateCoding coding_before) {
  for_each_stretch(
      exec, optimizer, true,
      [&](const StateStretch& stretch, const PieceState& state, int64_t at, View values) {
        source(stretch, values);
        state.encode(exec, at, values);
      });
  optimizer.set_updates(updates);
  if (optimizer.coding() == coding_before) return "";
  return fmt::format("the optimizer's states were in {} and are in {} from here on",
                     name_of(coding_before), name_of(optimizer.coding()));
}

}  // namespace cairn
