// Work outside of a training run takes its memory as a run does: rehearsed, then run on its arena.
#pragma once

#include <functional>

#include "backend/registry.h"
#include "memory/layout.h"
#include "ops/exec.h"

namespace cairn::program {

// `body` is called twice; `real` is false while it is rehearsed, where memory must not be touched.
inline void run_in_arena(Backend& backend,
                         const std::function<void(const Exec&, bool real)>& body) {
  Layout layout;
  {
    const auto rehearsal = open_rehearsal(backend.profile());
    Ledger ledger;
    Arena arena(rehearsal->device(), ledger);
    const Arena::PhaseScope phase(arena, Phase::step);
    body(Exec{*rehearsal, arena}, false);
    layout = solve_layout(arena.trace());
  }
  Ledger ledger;
  Arena arena(backend.device(), ledger, layout);
  arena.prefault();
  const Arena::PhaseScope phase(arena, Phase::step);
  body(Exec{backend, arena}, true);
}

}  // namespace cairn::program
