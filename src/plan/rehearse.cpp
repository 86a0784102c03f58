#include "plan/rehearse.h"

namespace cairn {

Batch make_capacity_batch(const Capacity& capacity) {
  Batch batch;
  batch.ids.resize(static_cast<size_t>(capacity.tokens));
  batch.positions.resize(static_cast<size_t>(capacity.tokens));
  batch.cu_seqlens.resize(static_cast<size_t>(capacity.segments) + 1);
  batch.labelled_rows.resize(static_cast<size_t>(capacity.labelled_rows));
  batch.labelled_targets.resize(static_cast<size_t>(capacity.labelled_rows));
  batch.longest_segment = capacity.longest_segment;
  return batch;
}

Rehearsal rehearse(const TrainSpec& spec, int64_t accumulation, const TargetProfile& profile) {
  const std::unique_ptr<RehearsalBackend> backend = open_rehearsal(profile);
  Ledger ledger;
  Rehearsal rehearsal;
  {
    Arena arena(backend->device(), ledger);
    Trainer trainer(*backend, arena, spec, &backend->pages());
    trainer.load({}, true);
    rehearsal.resident_bytes = ledger.current();

    backend->reset_work();
    const std::vector<Batch> step(static_cast<size_t>(accumulation),
                                  make_capacity_batch(spec.capacity));
    trainer.step(step, 0);
    rehearsal.step_work = backend->work();
    rehearsal.step_seconds = rehearsal.step_work.seconds(profile);

    if (spec.eval_capacity) trainer.evaluate(make_capacity_batch(*spec.eval_capacity));
    trainer.save(nullptr, nullptr, "");
    rehearsal.layout = solve_layout(arena.trace());
    rehearsal.snapshot = ledger.snapshot();
  }
  return rehearsal;
}

Rehearsal rehearse_generation(const GeneratorSpec& spec, const TargetProfile& profile) {
  const std::unique_ptr<RehearsalBackend> backend = open_rehearsal(profile);
  Ledger ledger;
  Rehearsal rehearsal;
  {
    Arena arena(backend->device(), ledger);
    Generator generator(*backend, arena, spec);
    generator.load(nullptr, nullptr);
    const std::vector<int32_t> piece(static_cast<size_t>(spec.piece));
    generator.pass(piece);
    rehearsal.layout = solve_layout(arena.trace());
    rehearsal.snapshot = ledger.snapshot();
  }
  return rehearsal;
}

}  // namespace cairn
