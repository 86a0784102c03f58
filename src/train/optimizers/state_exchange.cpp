#include "train/optimizers/state_exchange.h"

#include <fmt/format.h>

#include <algorithm>

#include "train/optimizers/piece_states.h"

namespace cairn {
namespace {

// Calls body(stretch, state, first of the piece, f32 scratch) for all states of all pieces.
template <typename Body>
void for_each_stretch(const Exec& exec, Optimizer& optimizer, bool writes, const Body& body) {
  Tensor scratch = exec.make(Account::workspace, "states in f32", DType::f32, {kStateStretch});
  optimizer.visit(exec, writes, [&](const Optimizer::Piece& piece, const StateViews& views) {
    for (const PieceState& state : states_of(views)) {
      if (!state.exists()) continue;
      for (int64_t at = 0; at < piece.shape.elements; at += kStateStretch) {
        const int64_t count = std::min(kStateStretch, piece.shape.elements - at);
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
